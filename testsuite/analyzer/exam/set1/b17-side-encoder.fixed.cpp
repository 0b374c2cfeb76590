#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace twotower {

struct TowerWeights {
  at::Tensor w1, b1, w2, b2;
};

at::Tensor mlp(const at::Tensor& x, const TowerWeights& w) {
  at::Tensor h = at::relu(at::addmm(w.b1, x, w.w1));
  return at::addmm(w.b2, h, w.w2);
}

// Evaluates one tower on its own stream, so that it overlaps with the other.
class SideTower {
 public:
  SideTower(TowerWeights w, c10::DeviceIndex device)
      : weights_(std::move(w)), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  at::Tensor start(const at::Tensor& x) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    fork_.record(caller);
    fork_.block(stream_);

    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor out = mlp(x, weights_);
    x.record_stream(stream_);
    join_.record(stream_);
    return out;
  }

  void finish(at::Tensor& out) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    join_.block(caller);
    out.record_stream(caller);
  }

 private:
  TowerWeights weights_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent fork_;
  at::cuda::CUDAEvent join_;
};

class TwoTower {
 public:
  TwoTower(TowerWeights user, TowerWeights item, at::Tensor head, c10::DeviceIndex device)
      : user_(std::move(user), device), item_(std::move(item)), head_(std::move(head)) {}

  at::Tensor forward(const at::Tensor& user_x, const at::Tensor& item_x) {
    at::Tensor u = user_.start(user_x);
    at::Tensor i = mlp(item_x, item_);
    user_.finish(u);
    at::Tensor both = at::cat({u, i}, 1);
    return at::matmul(both, head_);
  }

  at::Tensor embed_user(const at::Tensor& user_x) {
    at::Tensor u = user_.start(user_x);
    user_.finish(u);
    return u;
  }

 private:
  SideTower user_;
  TowerWeights item_;
  at::Tensor head_;
};

}  // namespace twotower
