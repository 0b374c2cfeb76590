// Margin report: values are reduced on the GPU and read on the CPU one step
// later, so that the copy overlaps the next revaluation.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <vector>

namespace margin {

class ReadBack {
 public:
  ReadBack(int64_t accounts, c10::DeviceIndex device)
      : device_(device), copy_stream_(c10::cuda::getStreamFromPool(false, device)) {
    const auto pinned = at::TensorOptions().dtype(at::kFloat).device(at::kCPU).pinned_memory(true);
    for (auto& s : slots_) s.host = at::empty({accounts}, pinned);
  }

  ~ReadBack() { copy_stream_.synchronize(); }

  // Starts the transfer of `values` into one of two host buffers.
  void start(const at::Tensor& values) {
    Slot& s = slots_[head_ % slots_.size()];
    TORCH_CHECK(values.numel() == s.host.numel() && values.is_contiguous() && values.scalar_type() == at::kFloat,
                "one float32 value per account expected");
    s.landed.synchronize();

    at::cuda::CUDAEvent computed;
    computed.record(c10::cuda::getCurrentCUDAStream(device_));
    computed.block(copy_stream_);
    C10_CUDA_CHECK(cudaMemcpyAsync(s.host.mutable_data_ptr(), values.const_data_ptr(), values.nbytes(),
                                   cudaMemcpyDeviceToHost, copy_stream_.stream()));
    values.record_stream(copy_stream_);
    s.landed.record(copy_stream_);
    ++head_;
  }

  // Host values of the transfer started `age` steps ago (0 or 1).
  const float* finish(uint64_t age) {
    TORCH_CHECK(age < slots_.size() && head_ > age, "no such transfer");
    Slot& s = slots_[(head_ - 1 - age) % slots_.size()];
    s.landed.synchronize();
    return s.host.const_data_ptr<float>();
  }

  int64_t accounts() const { return slots_[0].host.numel(); }

 private:
  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent landed;
  };

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream copy_stream_;
  std::array<Slot, 2> slots_;
  uint64_t head_ = 0;
};

int64_t count_calls(const float* margin, int64_t n, float limit) {
  int64_t calls = 0;
  for (int64_t i = 0; i < n; ++i) calls += margin[i] < limit;
  return calls;
}

// shocks: one tensor of factor moves per step; returns margin calls per step.
std::vector<int64_t> run(const at::Tensor& exposures, const std::vector<at::Tensor>& shocks, float limit) {
  ReadBack readback(exposures.size(0), static_cast<c10::DeviceIndex>(exposures.get_device()));
  std::vector<int64_t> calls;
  for (size_t step = 0; step < shocks.size(); ++step) {
    at::Tensor margin = at::mv(exposures, shocks[step]).exp();
    readback.start(margin);
    if (step > 0) calls.push_back(count_calls(readback.finish(1), readback.accounts(), limit));
  }
  if (!shocks.empty()) calls.push_back(count_calls(readback.finish(0), readback.accounts(), limit));
  return calls;
}

// Same for a single step.
int64_t run_once(const at::Tensor& exposures, const at::Tensor& shock, float limit) {
  at::Tensor margin = at::mv(exposures, shock).exp().to(at::kFloat);
  at::Tensor host = margin.to(at::kCPU, /*non_blocking=*/true);
  at::cuda::getCurrentCUDAStream(exposures.get_device()).synchronize();
  return count_calls(host.const_data_ptr<float>(), host.numel(), limit);
}

}  // namespace margin

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &margin::run);
  m.def("run_once", &margin::run_once);
}
