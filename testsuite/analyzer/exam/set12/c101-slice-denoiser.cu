// Denoises microscopy slices on a stream of its own and hands the result back
// to the caller's stream.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace scope {

__global__ void median3_kernel(const float* __restrict__ src, float* __restrict__ dst, int64_t rows, int64_t cols) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= rows * cols) return;
  const int64_t c = i % cols;
  const float a = src[c > 0 ? i - 1 : i], b = src[i], d = src[c + 1 < cols ? i + 1 : i];
  dst[i] = fmaxf(fminf(a, b), fminf(fmaxf(a, b), d));
}

void launch_median(const at::Tensor& src, at::Tensor& dst) {
  TORCH_CHECK(src.is_contiguous() && dst.is_contiguous(), "median: contiguous tensors expected");
  const int64_t n = src.numel();
  constexpr int kThreads = 256;
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream(src.get_device()).stream();
  median3_kernel<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      src.data_ptr<float>(), dst.data_ptr<float>(), src.size(0), src.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

struct Slice {
  at::Tensor pixels;
  std::shared_ptr<at::cuda::CUDAEvent> ready;
};

class Denoiser {
 public:
  explicit Denoiser(int device)
      : device_(static_cast<c10::DeviceIndex>(device)), lane_(c10::cuda::getStreamFromPool(false, device_)) {}

  // slice: [rows, cols], float32, produced on the current stream and left unchanged
  // by the caller until the result has been collected.
  void submit(const at::Tensor& slice) {
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(device_);
    at::cuda::CUDAEvent produced;
    produced.record(caller);
    produced.block(lane_);

    Slice result;
    {
      c10::cuda::CUDAStreamGuard guard(lane_);
      at::Tensor input = slice.contiguous();
      at::Tensor filtered = at::empty_like(input);
      launch_median(input, filtered);
      result.pixels = filtered.sub(filtered.mean()).clamp_min(0);
      result.ready = std::make_shared<at::cuda::CUDAEvent>();
      result.ready->record(lane_);
    }
    slice.record_stream(lane_);
    finished_.push_back(std::move(result));
  }

  // Oldest finished slice, usable on the current stream.
  at::Tensor collect() {
    TORCH_CHECK(!finished_.empty(), "no slice submitted");
    Slice s = std::move(finished_.front());
    finished_.pop_front();
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(device_);
    s.ready->block(caller);
    s.pixels.record_stream(caller);
    return s.pixels;
  }

 private:
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream lane_;
  std::deque<Slice> finished_;
};

}  // namespace scope

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<scope::Denoiser>(m, "Denoiser")
      .def(py::init<int>())
      .def("submit", &scope::Denoiser::submit)
      .def("collect", &scope::Denoiser::collect);
}
