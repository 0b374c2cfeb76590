#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <unordered_map>

namespace rpcgrad {

// A gradient contribution that came in from a peer.
struct Contribution {
  int64_t variable_id;
  at::Tensor grad;
};

class Inbox {
 public:
  void put(Contribution c) {
    {
      std::lock_guard<std::mutex> lock(m_);
      q_.push(std::move(c));
    }
    cv_.notify_one();
  }

  Contribution take() {
    std::unique_lock<std::mutex> lock(m_);
    cv_.wait(lock, [this] { return !q_.empty(); });
    Contribution c = std::move(q_.front());
    q_.pop();
    return c;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::queue<Contribution> q_;
};

// Runs on the transport's threads. Every payload is a fresh tensor of the caching host
// allocator (pinned), possibly half precision.
class Receiver {
 public:
  Receiver(std::shared_ptr<Inbox> inbox, c10::Device device) : inbox_(std::move(inbox)), device_(device) {}

  void on_message(int64_t variable_id, const at::Tensor& pinned_payload, double scale) {
    c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(false, device_.index());
    c10::cuda::CUDAStreamGuard guard(stream);
    at::Tensor raw = pinned_payload.to(device_, /*non_blocking=*/true);
    at::Tensor grad = raw.to(at::kFloat).mul(scale);
    inbox_->put(Contribution{variable_id, grad});
  }

 private:
  std::shared_ptr<Inbox> inbox_;
  c10::Device device_;
};

// Runs on the thread that owns the local backward pass.
class Accumulator {
 public:
  explicit Accumulator(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}

  void own(int64_t id, const at::Tensor& variable) { grads_[id] = at::zeros_like(variable, at::kFloat); }

  void collect(int expected) {
    for (int i = 0; i < expected; ++i) {
      Contribution c = inbox_->take();
      accumulate(c);
    }
  }

  at::Tensor grad(int64_t id) const { return grads_.at(id); }

 private:
  void accumulate(Contribution& c) {
    c10::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream(c.grad.device().index());
    at::Tensor& total = grads_.at(c.variable_id);
    total.add_(c.grad);
    c.grad.record_stream(current);
  }

  std::shared_ptr<Inbox> inbox_;
  std::unordered_map<int64_t, at::Tensor> grads_;
};

}  // namespace rpcgrad
