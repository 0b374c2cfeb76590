#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

// Vegetation-index mosaics for survey drones: every exposure is turned into an NDVI
// image and splatted into a georeferenced grid of the field.
namespace agro {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(int64_t n) {
  return static_cast<unsigned>((n + kThreads - 1) / kThreads);
}

__global__ void ndvi_kernel(const float* red, const float* nir, float* ndvi, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const float sum = nir[i] + red[i];
  ndvi[i] = sum > 1e-6f ? (nir[i] - red[i]) / sum : 0.f;
}

__global__ void splat_kernel(const float* ndvi, const int64_t* cell, float* grid,
                             float* weight, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= n || cell[i] < 0) return;
  atomicAdd(&grid[cell[i]], ndvi[i]);
  atomicAdd(&weight[cell[i]], 1.f);
}

__global__ void normalise_kernel(const float* grid, const float* weight, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = weight[i] > 0.f ? grid[i] / weight[i] : -1.f;
}

void launch_ndvi(const at::Tensor& red, const at::Tensor& nir, at::Tensor& ndvi) {
  const int64_t n = red.numel();
  auto stream = at::cuda::getCurrentCUDAStream(red.get_device());
  ndvi_kernel<<<blocks_for(n), kThreads, 0, stream>>>(
      red.data_ptr<float>(), nir.data_ptr<float>(), ndvi.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch_splat(const at::Tensor& ndvi, const at::Tensor& cell, at::Tensor& grid,
                  at::Tensor& weight) {
  const int64_t n = ndvi.numel();
  auto stream = at::cuda::getCurrentCUDAStream(ndvi.get_device());
  splat_kernel<<<blocks_for(n), kThreads>>>(
      ndvi.data_ptr<float>(), cell.data_ptr<int64_t>(), grid.data_ptr<float>(),
      weight.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch_normalise(const at::Tensor& grid, const at::Tensor& weight, at::Tensor& out) {
  const int64_t n = grid.numel();
  auto stream = at::cuda::getCurrentCUDAStream(grid.get_device());
  normalise_kernel<<<blocks_for(n), kThreads, 0, stream>>>(
      grid.data_ptr<float>(), weight.data_ptr<float>(), out.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

class MosaicBuilder {
 public:
  MosaicBuilder(int64_t cells, c10::DeviceIndex device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)), cells_(cells) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    const auto opts = at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device);
    grid_ = at::zeros({cells}, opts);
    weight_ = at::zeros({cells}, opts);
  }

  // Adds one exposure; the bands come from the caller's current stream.
  void add(const at::Tensor& red, const at::Tensor& nir, const at::Tensor& cell) {
    TORCH_CHECK(red.is_cuda() && red.scalar_type() == at::kFloat, "float CUDA bands expected");
    TORCH_CHECK(red.numel() == nir.numel() && red.numel() == cell.numel());
    at::cuda::CUDAEvent bands_ready;
    bands_ready.record(at::cuda::getCurrentCUDAStream(red.get_device()));
    c10::cuda::CUDAStreamGuard guard(stream_);
    bands_ready.block(stream_);
    for (const auto* t : {&red, &nir, &cell}) t->record_stream(stream_.unwrap());

    at::Tensor ndvi = at::empty_like(red);
    launch_ndvi(red, nir, ndvi);
    launch_splat(ndvi, cell, grid_, weight_);
  }

  at::Tensor finish() {
    const auto caller = at::cuda::getCurrentCUDAStream(grid_.get_device());
    at::Tensor out;
    at::cuda::CUDAEvent done;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      out = at::empty_like(grid_);
      launch_normalise(grid_, weight_, out);
      done.record(stream_);
    }
    done.block(caller);
    out.record_stream(caller.unwrap());
    return out;
  }

 private:
  c10::cuda::CUDAStream stream_;
  int64_t cells_;
  at::Tensor grid_, weight_;
};

}  // namespace agro

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<agro::MosaicBuilder>(m, "MosaicBuilder")
      .def(pybind11::init<int64_t, c10::DeviceIndex>())
      .def("add", &agro::MosaicBuilder::add)
      .def("finish", &agro::MosaicBuilder::finish);
}
