// Running moments of activations, gathered on a side stream beside training.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace moments {

__global__ void addMoments(const float* x, double* acc, int64_t n) {
  double s = 0, q = 0;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    s += x[i];
    q += static_cast<double>(x[i]) * x[i];
  }
  for (int o = 16; o > 0; o >>= 1) {
    s += __shfl_down_sync(0xffffffffu, s, o);
    q += __shfl_down_sync(0xffffffffu, q, o);
  }
  if ((threadIdx.x & 31) == 0) {
    atomicAdd(&acc[0], s);
    atomicAdd(&acc[1], q);
  }
}

class BackgroundMoments {
 public:
  explicit BackgroundMoments(c10::DeviceIndex device)
      : device_(device), side_(c10::cuda::getStreamFromPool(false, device)) {
    c10::cuda::CUDAStreamGuard guard(side_);
    acc_ = at::zeros({2}, at::TensorOptions().dtype(at::kDouble).device(at::kCUDA, device));
  }

  // The accumulator belongs to the side stream, so its memory may go back at any time.
  ~BackgroundMoments() = default;

  // `x` may be dropped or recycled by the caller right away, but not written in place before sync().
  void observe(const at::Tensor& x) {
    TORCH_CHECK(x.is_cuda() && x.get_device() == device_, "wrong device");
    if (x.numel() == 0) return;
    c10::cuda::CUDAGuard guard(device_);
    at::Tensor flat = x.detach().to(at::kFloat).contiguous();
    hand(flat);
    const int grid = static_cast<int>(std::min<int64_t>((flat.numel() + 255) / 256, 256));
    addMoments<<<grid, 256, 0, side_.stream()>>>(flat.data_ptr<float>(), acc_.data_ptr<double>(), flat.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    count_ += flat.numel();
  }

  // Orders later work of the current stream after everything that was observed.
  void sync() {
    done_.record(side_);
    done_.block(c10::cuda::getCurrentCUDAStream(device_));
  }

  std::tuple<at::Tensor, at::Tensor> meanVar() {
    sync();
    at::Tensor snapshot = acc_.clone();
    // The clone reads the accumulator on the current stream.
    at::cuda::CUDAEvent read;
    read.record(c10::cuda::getCurrentCUDAStream(device_));
    read.block(side_);
    const double n = static_cast<double>(std::max<int64_t>(count_, 1));
    at::Tensor mean = snapshot[0] / n;
    return {mean, snapshot[1] / n - mean * mean};
  }

  void reset() {
    c10::cuda::CUDAStreamGuard guard(side_);
    acc_.zero_();
    count_ = 0;
  }

 private:
  void hand(const at::Tensor& t) {
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(device_));
    ready.block(side_);
    c10::cuda::CUDACachingAllocator::recordStream(t.storage().data_ptr(), side_);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::Tensor acc_;
  at::cuda::CUDAEvent done_;
  int64_t count_ = 0;
};

at::Tensor normalizedForward(BackgroundMoments& m, const at::Tensor& x, const at::Tensor& weight) {
  at::Tensor h = at::matmul(x, weight);
  m.observe(h);
  return at::relu(h);
}

at::Tensor whiten(BackgroundMoments& m, const at::Tensor& x) {
  auto [mean, var] = m.meanVar();
  return (x - mean.to(x.scalar_type())) * at::rsqrt(var + 1e-5).to(x.scalar_type());
}

}  // namespace moments

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<moments::BackgroundMoments>(m, "BackgroundMoments")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("observe", &moments::BackgroundMoments::observe)
      .def("sync", &moments::BackgroundMoments::sync)
      .def("mean_var", &moments::BackgroundMoments::meanVar)
      .def("reset", &moments::BackgroundMoments::reset);
  m.def("normalized_forward", &moments::normalizedForward);
  m.def("whiten", &moments::whiten);
}
