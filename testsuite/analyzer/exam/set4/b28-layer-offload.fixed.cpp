#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace offload {

// Moves the weights of idle layers to pinned host memory and back. Copies to the
// host run on a stream of their own.
class WeightStore {
 public:
  explicit WeightStore(c10::DeviceIndex device)
      : device_(device), d2h_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  size_t add(at::Tensor w) {
    Entry e;
    e.host = at::empty(w.sizes(), w.options().device(at::kCPU).pinned_memory(true));
    e.weight = std::move(w);
    entries_.push_back(std::move(e));
    return entries_.size() - 1;
  }

  void evict(size_t id) {
    Entry& e = entries_[id];
    if (!e.resident) return;
    at::cuda::CUDAEvent idle;
    idle.record(c10::cuda::getCurrentCUDAStream(device_));
    idle.block(d2h_);
    {
      c10::cuda::CUDAStreamGuard guard(d2h_);
      e.host.copy_(e.weight, /*non_blocking=*/true);
    }
    e.saved.record(d2h_);
    e.weight.record_stream(d2h_.unwrap());
    releaseStorage(e.weight);
    e.resident = false;
  }

  const at::Tensor& fetch(size_t id) {
    Entry& e = entries_[id];
    if (!e.resident) {
      e.saved.block(c10::cuda::getCurrentCUDAStream(device_));
      e.weight = e.host.to(at::Device(at::kCUDA, device_), /*non_blocking=*/true);
      e.resident = true;
    }
    return e.weight;
  }

 private:
  struct Entry {
    at::Tensor weight;
    at::Tensor host;
    at::cuda::CUDAEvent saved;
    bool resident = true;
  };

  static void releaseStorage(at::Tensor& t) { t = at::empty({0}, t.options()); }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream d2h_;
  std::vector<Entry> entries_;
};

class StreamedMlp {
 public:
  StreamedMlp(c10::DeviceIndex device, const std::vector<at::Tensor>& weights, size_t window)
      : store_(device), window_(window) {
    for (const auto& w : weights) ids_.push_back(store_.add(w.clone()));
  }

  at::Tensor forward(at::Tensor x) {
    for (size_t i = 0; i < ids_.size(); ++i) {
      x = layer(x, i);
      if (i >= window_) store_.evict(ids_[i - window_]);
    }
    for (size_t i = ids_.size() - std::min(window_, ids_.size()); i < ids_.size(); ++i) store_.evict(ids_[i]);
    return x;
  }

 private:
  at::Tensor layer(const at::Tensor& x, size_t i) {
    const at::Tensor& w = store_.fetch(ids_[i]);
    at::Tensor h = at::matmul(x, w.t());
    return at::gelu(h);
  }

  WeightStore store_;
  size_t window_;
  std::vector<size_t> ids_;
};

at::Tensor run_offloaded(const std::vector<at::Tensor>& weights, const at::Tensor& input, int64_t steps) {
  TORCH_CHECK(input.is_cuda(), "input must be on a CUDA device");
  at::NoGradGuard no_grad;
  c10::cuda::CUDAGuard guard(input.device());
  StreamedMlp mlp(input.device().index(), weights, 2);
  at::Tensor x = input;
  for (int64_t s = 0; s < steps; ++s) x = mlp.forward(x);
  c10::cuda::getCurrentCUDAStream().synchronize();
  return x;
}

}  // namespace offload
