// Drafted recommendations: a small model proposes items for every session, the large one accepts a prefix. The number accepted
// is needed on the host to lay out the next step.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace recsys {

class SessionPlanner {
 public:
  SessionPlanner(int64_t max_sessions, int64_t drafts, int64_t device)
      : drafts_(drafts), device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)) {
    accepted_host_ = at::zeros({max_sessions}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    offsets_.assign(static_cast<size_t>(max_sessions), 0);
  }

  int64_t capacity() const { return accepted_host_.numel(); }

  // Called when the verification kernels of a step are queued.
  void note_accepted(const at::Tensor& accepted) {
    TORCH_CHECK(accepted.is_cuda() && accepted.scalar_type() == at::kInt, "accepted must be int32 on the device");
    TORCH_CHECK(accepted.numel() <= capacity(), "too many sessions");
    sessions_ = accepted.numel();
    accepted_host_.narrow(0, 0, sessions_).copy_(accepted, /*non_blocking=*/true);
    copied_.record(at::cuda::getCurrentCUDAStream(accepted.get_device()));
  }

  // Start position of each session in the next step.
  at::Tensor plan_next() {
    copied_.synchronize();
    const int* accepted = accepted_host_.data_ptr<int>();
    std::vector<int64_t> starts(static_cast<size_t>(sessions_));
    for (int64_t i = 0; i < sessions_; ++i) {
      offsets_[i] += std::min<int64_t>(accepted[i], drafts_) + 1;
      starts[i] = offsets_[i];
    }
    return at::tensor(starts, at::kLong).to(device_);
  }

  void reset(int64_t session) { offsets_.at(static_cast<size_t>(session)) = 0; }

 private:
  int64_t drafts_;
  c10::Device device_;
  at::Tensor accepted_host_;
  at::cuda::CUDAEvent copied_;
  int64_t sessions_ = 0;
  std::vector<int64_t> offsets_;
};

class DraftLoop {
 public:
  DraftLoop(at::Tensor item_table, std::shared_ptr<SessionPlanner> planner)
      : items_(std::move(item_table)), planner_(std::move(planner)) {}

  // state: [sessions, width]; drafts: [sessions, k] item ids.
  at::Tensor step(const at::Tensor& state, const at::Tensor& drafts, double threshold) {
    const c10::cuda::CUDAGuard guard(state.device());
    planner_->note_accepted(verify(state, drafts, threshold));
    return planner_->plan_next();
  }

 private:
  at::Tensor verify(const at::Tensor& state, const at::Tensor& drafts, double threshold) const {
    const at::Tensor candidates = items_.index_select(0, drafts.reshape({-1}));
    const at::Tensor scores =
        candidates.view({drafts.size(0), drafts.size(1), -1}).matmul(state.unsqueeze(-1)).squeeze(-1).sigmoid();
    return scores.ge(threshold).to(at::kInt).cumprod(1).sum(1).to(at::kInt);
  }

  at::Tensor items_;
  std::shared_ptr<SessionPlanner> planner_;
};

}  // namespace recsys

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<recsys::SessionPlanner, std::shared_ptr<recsys::SessionPlanner>>(m, "SessionPlanner")
      .def(py::init<int64_t, int64_t, int64_t>())
      .def("note_accepted", &recsys::SessionPlanner::note_accepted)
      .def("plan_next", &recsys::SessionPlanner::plan_next)
      .def("reset", &recsys::SessionPlanner::reset);
  py::class_<recsys::DraftLoop>(m, "DraftLoop")
      .def(py::init<at::Tensor, std::shared_ptr<recsys::SessionPlanner>>())
      .def("step", &recsys::DraftLoop::step);
}
