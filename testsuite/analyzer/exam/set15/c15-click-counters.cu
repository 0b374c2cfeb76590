// Click counters of the ranking trainer: counted on the device in every step, read on the host one step later.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <array>
#include <memory>
#include <numeric>

namespace counters {

__global__ void count_clicks(const int64_t* slots, int* histogram, int64_t n, int64_t bins) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n && slots[i] >= 0 && slots[i] < bins) atomicAdd(&histogram[slots[i]], 1);
}

class ClickCounter {
 public:
  ClickCounter(int64_t bins, int64_t device) : bins_(bins), device_(static_cast<c10::DeviceIndex>(device)) {
    for (Half& half : halves_) {
      half.host = at::zeros({bins}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    }
  }

  void step(const at::Tensor& slots) {
    TORCH_CHECK(slots.is_cuda() && slots.scalar_type() == at::kLong && slots.is_contiguous(), "bad slots");
    const c10::cuda::CUDAGuard guard(device_);
    Half& half = halves_[steps_++ % halves_.size()];
    collect(half);
    at::Tensor histogram = at::zeros({bins_}, slots.options().dtype(at::kInt));
    launch(slots, histogram);
    half.host.copy_(histogram, /*non_blocking=*/true);
    half.arrived.record(at::cuda::getCurrentCUDAStream(device_));
    half.pending = true;
  }

  int64_t total() {
    for (Half& half : halves_) collect(half);
    return total_;
  }

 private:
  struct Half {
    at::Tensor host;
    at::cuda::CUDAEvent arrived;
    bool pending = false;
  };

  void collect(Half& half) {
    if (!half.pending) return;
    half.arrived.synchronize();
    const int* counts = half.host.data_ptr<int>();
    total_ = std::accumulate(counts, counts + bins_, total_);
    half.pending = false;
  }

  void launch(const at::Tensor& slots, at::Tensor& histogram) {
    const int64_t n = slots.numel();
    if (n == 0) return;
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream(device_);
    count_clicks<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(slots.data_ptr<int64_t>(),
                                                                             histogram.data_ptr<int>(), n, bins_);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  int64_t bins_;
  c10::DeviceIndex device_;
  std::array<Half, 2> halves_;
  size_t steps_ = 0;
  int64_t total_ = 0;
};

}  // namespace counters

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<counters::ClickCounter, std::shared_ptr<counters::ClickCounter>>(m, "ClickCounter")
      .def(py::init<int64_t, int64_t>())
      .def("step", &counters::ClickCounter::step)
      .def("total", &counters::ClickCounter::total);
}
