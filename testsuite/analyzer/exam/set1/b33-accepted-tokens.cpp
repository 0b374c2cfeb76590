// Speculative decoding: number of accepted tokens per sequence.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>

#include <cstdint>
#include <vector>

namespace spec {

class AcceptanceTracker {
 public:
  explicit AcceptanceTracker(int64_t max_seqs)
      : host_counts_(at::empty({max_seqs}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))) {}

  // draft: (seqs, k) proposed tokens; target: (seqs, k) tokens of the big model.
  void update(const at::Tensor& draft, const at::Tensor& target) {
    at::Tensor same = draft.eq(target).to(at::kInt);
    at::Tensor run = at::cumprod(same, /*dim=*/1, at::kInt);
    at::Tensor counts = run.sum(1, /*keepdim=*/false, at::kInt);
    enqueue_copy(counts);
    seqs_ = counts.size(0);
  }

  std::vector<int> accepted() {
    const int32_t* p = host_counts_.data_ptr<int32_t>();
    return std::vector<int>(p, p + seqs_);
  }

 private:
  void enqueue_copy(const at::Tensor& counts) {
    host_counts_.narrow(0, 0, counts.size(0)).copy_(counts, /*non_blocking=*/true);
    copied_.record();
  }

  at::Tensor host_counts_;
  at::cuda::CUDAEvent copied_;
  int64_t seqs_ = 0;
};

struct Scheduler {
  std::vector<int64_t> positions;

  void advance(const std::vector<int>& accepted) {
    for (size_t i = 0; i < accepted.size() && i < positions.size(); ++i)
      positions[i] += accepted[i] + 1;
  }
};

void verify_step(AcceptanceTracker& tracker, Scheduler& sched, const at::Tensor& draft,
                 const at::Tensor& logits) {
  at::Tensor target = logits.argmax(-1);
  tracker.update(draft, target);
  sched.advance(tracker.accepted());
}

}  // namespace spec
