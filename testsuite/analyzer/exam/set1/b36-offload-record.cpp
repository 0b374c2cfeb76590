// Activation offloading: device -> pinned host on a separate stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace offload {

struct Saved {
  at::Tensor host;
  std::shared_ptr<at::cuda::CUDAEvent> copied;
};

class ActivationStore {
 public:
  explicit ActivationStore(c10::DeviceIndex device)
      : device_(c10::kCUDA, device), stream_(c10::cuda::getStreamFromPool(false, device)) {}

  ~ActivationStore() { stream_.synchronize(); }

  // Takes the activation over; the caller gives up its device memory.
  int64_t push(at::Tensor act) {
    const auto producer = c10::cuda::getCurrentCUDAStream(device_.index());
    at::cuda::CUDAEvent ready;
    ready.record(producer);
    ready.block(stream_);

    Saved s;
    s.host = at::empty(act.sizes(), act.options().device(at::kCPU).pinned_memory(true));
    s.copied = std::make_shared<at::cuda::CUDAEvent>();
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      s.host.copy_(act, /*non_blocking=*/true);
      s.copied->record(stream_);
    }
    act.record_stream(producer);
    saved_.emplace(next_, std::move(s));
    return next_++;
  }

  // Brings an activation back, ready for the current stream.
  at::Tensor pop(int64_t id) {
    auto it = saved_.find(id);
    TORCH_CHECK(it != saved_.end(), "unknown activation ", id);
    const auto consumer = c10::cuda::getCurrentCUDAStream(device_.index());
    it->second.copied->block(consumer);
    at::Tensor act = it->second.host.to(device_, /*non_blocking=*/true);
    saved_.erase(it);
    return act;
  }

 private:
  c10::Device device_;
  c10::cuda::CUDAStream stream_;
  int64_t next_ = 0;
  std::unordered_map<int64_t, Saved> saved_;
};

// Forward through a stack of layers, keeping only host copies of the inputs.
at::Tensor forward(ActivationStore& store, at::Tensor x, const std::vector<at::Tensor>& weights,
                   std::vector<int64_t>& ids) {
  for (const auto& w : weights) {
    at::Tensor y = at::relu(at::matmul(x, w));
    ids.push_back(store.push(std::move(x)));
    x = std::move(y);
  }
  return x;
}

}  // namespace offload
