#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <vector>

namespace optim {

// Runs the body of a scope on another stream, with an edge at both ends.
class SideScope {
 public:
  explicit SideScope(c10::cuda::CUDAStream side)
      : caller_(c10::cuda::getCurrentCUDAStream(side.device_index())), side_(side), guard_(side) {
    enter();
  }
  ~SideScope() {
    at::cuda::CUDAEvent leave;
    leave.record(side_);
    leave.block(caller_);
  }
  SideScope(const SideScope&) = delete;

 private:
  void enter() {
    at::cuda::CUDAEvent begin;
    begin.record();
    begin.block(side_);
  }

  c10::cuda::CUDAStream caller_;
  c10::cuda::CUDAStream side_;
  c10::cuda::CUDAStreamGuard guard_;
};

class ClippedSgd {
 public:
  ClippedSgd(std::vector<at::Tensor> params, double lr, double max_norm)
      : params_(std::move(params)),
        lr_(lr),
        max_norm_(max_norm),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, params_.at(0).device().index())) {}

  // One step; the gradients come from the current stream and stay alive. No
  // tensor requires a gradient here.
  void step(const std::vector<at::Tensor>& grads) {
    TORCH_CHECK(grads.size() == params_.size(), "one gradient per parameter");
    SideScope scope(side_);
    at::Tensor scale = clip_scale(grads);
    for (size_t i = 0; i < params_.size(); ++i)
      params_[i].sub_(grads[i].mul(scale), lr_);
  }

  // Backward of the squared error of a linear model, then one step.
  void train_linear(const at::Tensor& x, const at::Tensor& target) {
    at::Tensor diff = at::matmul(x, params_[0]).sub_(target);
    std::vector<at::Tensor> grads{at::matmul(x.t(), diff)};
    step(grads);
  }

 private:
  at::Tensor clip_scale(const std::vector<at::Tensor>& grads) const {
    at::Tensor sq = at::zeros({}, grads[0].options());
    for (const auto& g : grads) sq.add_(g.square().sum());
    return sq.sqrt().add_(1e-6).reciprocal_().mul_(max_norm_).clamp_max_(1.0);
  }

  std::vector<at::Tensor> params_;
  double lr_;
  double max_norm_;
  c10::cuda::CUDAStream side_;
};

}  // namespace optim
