// Chooses how many particles the next resampling round may keep.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <algorithm>
#include <vector>

namespace smc {

class BudgetPlanner {
 public:
  BudgetPlanner(int64_t islands, int64_t max_particles)
      : islands_(islands),
        max_particles_(max_particles),
        effective_host_(at::empty({islands}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))) {
    effective_host_.fill_(static_cast<int>(max_particles));
  }

  // log_w: [islands, particles] on the GPU.
  void observe(const at::Tensor& log_w) {
    TORCH_CHECK(log_w.is_cuda() && log_w.dim() == 2 && log_w.size(0) == islands_);
    c10::cuda::CUDAGuard guard(log_w.device());
    at::Tensor w = at::softmax(log_w, 1);
    at::Tensor ess = w.pow(2).sum(1).reciprocal().floor();
    publish(ess.to(at::kInt));
  }

  // Per-island particle count for the next round; called while the current round still runs.
  std::vector<int64_t> plan() {
    std::vector<int64_t> keep(islands_);
    copied_.synchronize();
    const int* ess = effective_host_.data_ptr<int>();
    for (int64_t i = 0; i < islands_; ++i) {
      int64_t k = std::max<int64_t>(16, 2 * ess[i]);
      keep[i] = std::min(k, max_particles_);
    }
    return keep;
  }

 private:
  void publish(const at::Tensor& ess) {
    effective_host_.copy_(ess, /*non_blocking=*/true);
    copied_.record(at::cuda::getCurrentCUDAStream());
  }

  int64_t islands_;
  int64_t max_particles_;
  at::Tensor effective_host_;
  at::cuda::CUDAEvent copied_;
};

class Sampler {
 public:
  Sampler(int64_t islands, int64_t particles, int64_t dim)
      : planner_(islands, particles),
        state_(at::randn({islands, particles, dim}, at::TensorOptions().device(at::kCUDA).dtype(at::kFloat))) {}

  std::vector<int64_t> round(const at::Tensor& target) {
    at::Tensor log_w = -(state_ - target).pow(2).sum(2);
    planner_.observe(log_w);
    move(log_w);
    return planner_.plan();
  }

 private:
  void move(const at::Tensor& log_w) {
    at::Tensor p = at::softmax(log_w, 1);
    at::Tensor cdf = p.cumsum(1);
    at::Tensor idx = at::searchsorted(cdf, at::rand_like(p)).clamp_max(state_.size(1) - 1);
    state_ = at::gather(state_, 1, idx.unsqueeze(2).expand_as(state_));
    state_.add_(at::randn_like(state_), 0.05);
  }

  BudgetPlanner planner_;
  at::Tensor state_;
};

}  // namespace smc

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<smc::Sampler>(m, "Sampler")
      .def(py::init<int64_t, int64_t, int64_t>())
      .def("round", &smc::Sampler::round);
}
