// CPU offload of optimizer states with prefetch on a copy stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <deque>
#include <utility>
#include <vector>

namespace offload {

struct Shard {
  at::Tensor host; // pinned
  at::Tensor param; // device
};

struct InFlight {
  at::Tensor device;
  at::cuda::CUDAEvent ready;
};

class StatePrefetcher {
 public:
  StatePrefetcher(std::vector<Shard>& shards, size_t depth)
      : shards_(shards), depth_(depth), copy_stream_(c10::cuda::getStreamFromPool()) {}

  void advance() {
    while (next_ < shards_.size() && queue_.size() < depth_) {
      enqueue(shards_[next_++]);
    }
  }

  // The returned tensor may be used on the current stream.
  at::Tensor take() {
    TORCH_CHECK(!queue_.empty());
    InFlight item = std::move(queue_.front());
    queue_.pop_front();
    auto current = c10::cuda::getCurrentCUDAStream();
    item.ready.block(current);
    item.device.record_stream(current);
    return std::move(item.device);
  }

  // Writes an updated state back; the host copy is valid after flush().
  void put_back(at::Tensor& host, const at::Tensor& state) {
    at::cuda::CUDAEvent updated;
    updated.record(c10::cuda::getCurrentCUDAStream());
    updated.block(copy_stream_);
    state.record_stream(copy_stream_);
    c10::cuda::CUDAStreamGuard guard(copy_stream_);
    host.copy_(state, /*non_blocking=*/true);
  }

  void flush() { copy_stream_.synchronize(); }

 private:
  void enqueue(Shard& s) {
    c10::cuda::CUDAStreamGuard guard(copy_stream_);
    InFlight item;
    item.device = at::empty(s.host.sizes(), s.param.options());
    item.device.copy_(s.host, /*non_blocking=*/true);
    item.ready.record(copy_stream_);
    queue_.push_back(std::move(item));
  }

  std::vector<Shard>& shards_;
  size_t depth_;
  size_t next_ = 0;
  c10::cuda::CUDAStream copy_stream_;
  std::deque<InFlight> queue_;
};

} // namespace offload

void sgd_momentum_step(std::vector<offload::Shard>& shards, const std::vector<at::Tensor>& grads, double lr) {
  offload::StatePrefetcher prefetcher(shards, /*depth=*/2);
  prefetcher.advance();
  for (size_t i = 0; i < shards.size(); ++i) {
    at::Tensor momentum = prefetcher.take();
    momentum.mul_(0.9).add_(grads[i]);
    shards[i].param.sub_(momentum, lr);
    prefetcher.put_back(shards[i].host, momentum);
    prefetcher.advance();
  }
  prefetcher.flush();
}
