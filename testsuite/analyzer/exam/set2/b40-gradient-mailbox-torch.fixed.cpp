#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <mutex>
#include <vector>

namespace rpcgrad {

struct WireGradient {
  at::Tensor payload;  // pinned int8, kept alive by the message
  at::Tensor scale;    // pinned float, one value for each row
};

class GradientMailbox {
 public:
  explicit GradientMailbox(c10::DeviceIndex device) : device_(device) {}

  // Receives a gradient from another worker on a stream of the receive pool.
  void put(int64_t context, const WireGradient& wire) {
    const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_);
    Entry entry;
    entry.wire = wire;
    {
      const c10::cuda::CUDAStreamGuard guard(stream);
      const c10::Device cuda(c10::kCUDA, device_);
      at::Tensor q = wire.payload.to(cuda, /*non_blocking=*/true);
      at::Tensor s = wire.scale.to(cuda, /*non_blocking=*/true);
      entry.grad = q.to(at::kFloat).mul_(s.unsqueeze(1));
    }
    entry.ready.record(stream);
    std::lock_guard<std::mutex> lock(mutex_);
    entries_[context].push_back(std::move(entry));
  }

  // Sums everything that has come in for the context, on the current stream.
  at::Tensor take(int64_t context) {
    std::vector<Entry> entries;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto it = entries_.find(context);
      if (it == entries_.end()) return {};
      entries = std::move(it->second);
      entries_.erase(it);
    }
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    at::Tensor sum;
    for (auto& e : entries) {
      e.ready.block(current);
      e.grad.record_stream(current);
      sum = sum.defined() ? sum.add(e.grad) : e.grad.clone();
    }
    return sum;
  }

 private:
  struct Entry {
    WireGradient wire;
    at::Tensor grad;
    at::cuda::CUDAEvent ready;
  };

  c10::DeviceIndex device_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<Entry>> entries_;
};

void apply(GradientMailbox& mailbox, int64_t context, at::Tensor param, double lr) {
  at::NoGradGuard no_grad;
  at::Tensor grad = mailbox.take(context);
  if (grad.defined()) param.sub_(grad, lr);
}

} // namespace rpcgrad
