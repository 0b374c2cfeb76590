// Permutohedral-style splat/blur operator for volumetric segmentation.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace lattice {

constexpr int kThreads = 256;

template <typename scalar_t>
__global__ void splat_kernel(const scalar_t* features, const scalar_t* values, scalar_t* grid, int n, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int cell = static_cast<int>(features[i] * cells);
  cell = cell < 0 ? 0 : (cell >= cells ? cells - 1 : cell);
  atomicAdd(grid + cell, values[i]);
}

template <typename scalar_t>
__global__ void blur_kernel(const scalar_t* grid, scalar_t* blurred, int cells) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cells) return;
  scalar_t left = c > 0 ? grid[c - 1] : scalar_t(0);
  scalar_t right = c + 1 < cells ? grid[c + 1] : scalar_t(0);
  blurred[c] = grid[c] / 2 + (left + right) / 4;
}

template <typename scalar_t>
__global__ void slice_kernel(const scalar_t* features, const scalar_t* blurred, scalar_t* out, int n, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int cell = static_cast<int>(features[i] * cells);
  cell = cell < 0 ? 0 : (cell >= cells ? cells - 1 : cell);
  out[i] = blurred[cell];
}

struct LaunchConfig {
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
};

// One place for launch geometry so that all kernels of the operator agree.
inline LaunchConfig launch_config(int64_t elements, const torch::Tensor& like) {
  const auto blocks = static_cast<unsigned>((elements + kThreads - 1) / kThreads);
  return {dim3(blocks), dim3(kThreads), c10::cuda::getCurrentCUDAStream(like.get_device()).stream()};
}

torch::Tensor filter(const torch::Tensor& features, const torch::Tensor& values, int64_t cells) {
  TORCH_CHECK(features.is_cuda() && values.is_cuda(), "lattice::filter needs CUDA tensors");
  TORCH_CHECK(features.numel() == values.numel(), "one feature per value");
  const c10::cuda::OptionalCUDAGuard device_guard(features.device());

  auto f = features.contiguous();
  auto v = values.contiguous();
  auto grid = torch::zeros({cells}, values.options());
  auto blurred = torch::empty({cells}, values.options());
  auto out = torch::empty_like(v);
  const int n = static_cast<int>(v.numel());

  const LaunchConfig points = launch_config(n, v);
  const LaunchConfig nodes = launch_config(cells, v);
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "lattice_filter", [&] {
    splat_kernel<scalar_t><<<points.grid, points.block, 0, points.stream>>>(
        f.data_ptr<scalar_t>(), v.data_ptr<scalar_t>(), grid.data_ptr<scalar_t>(), n, static_cast<int>(cells));
    blur_kernel<scalar_t><<<nodes.grid, nodes.block, 0, nodes.stream>>>(
        grid.data_ptr<scalar_t>(), blurred.data_ptr<scalar_t>(), static_cast<int>(cells));
    slice_kernel<scalar_t><<<points.grid, points.block, 0, points.stream>>>(
        f.data_ptr<scalar_t>(), blurred.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), n, static_cast<int>(cells));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// Filters every class channel on a stream of its own and adds the results up.
torch::Tensor filter_channels(const torch::Tensor& features, const std::vector<torch::Tensor>& channels, int64_t cells) {
  const auto device = features.get_device();
  auto caller = c10::cuda::getCurrentCUDAStream(device);
  at::cuda::CUDAEvent inputs_ready;
  inputs_ready.record(caller);

  std::vector<torch::Tensor> filtered;
  for (const auto& channel : channels) {
    auto side = c10::cuda::getStreamFromPool(false, device);
    inputs_ready.block(side);
    c10::cuda::CUDAStreamGuard on_side(side);
    torch::Tensor response = filter(features, channel, cells);
    response.div_(response.max().clamp_min(1e-6));
    response.record_stream(caller.unwrap());
    features.record_stream(side.unwrap());
    channel.record_stream(side.unwrap());

    at::cuda::CUDAEvent filtered_here;
    filtered_here.record(side);
    filtered_here.block(caller);
    filtered.push_back(std::move(response));
  }
  return torch::stack(filtered).sum(0);
}

}  // namespace lattice

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("filter", &lattice::filter, "splat, blur and slice");
  m.def("filter_channels", &lattice::filter_channels, "filter all channels concurrently");
}
