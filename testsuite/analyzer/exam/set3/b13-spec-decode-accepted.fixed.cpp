#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/irange.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace vllm::v1 {

struct SchedulerOutput {
  int64_t num_reqs = 0;
  int64_t num_spec_tokens = 0;
  bool spec_decode() const { return num_spec_tokens > 0; }
};

/// Persistent batch state; CPU mirrors are pinned so that uploads and downloads are asynchronous.
class InputBatch {
 public:
  explicit InputBatch(int64_t max_num_reqs)
      : num_accepted_tokens_cpu(at::ones({max_num_reqs}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))),
        seq_lens(max_num_reqs, 0) {}

  at::Tensor num_accepted_tokens_cpu;
  std::vector<int64_t> seq_lens;
};

class RejectionSampler {
 public:
  // Accepts the longest prefix of drafts that agrees with the target model.
  at::Tensor forward(const at::Tensor& draft_ids, const at::Tensor& target_ids) const {
    at::Tensor match = draft_ids.eq(target_ids).to(at::kInt);
    return match.cumprod(1).sum(1).add(1).to(at::kInt);
  }
};

class GPUModelRunner {
 public:
  GPUModelRunner(int64_t max_num_reqs, at::Device device) : device_(device), batch_(max_num_reqs) {}

  /// Queues one step and returns without waiting for the device.
  at::Tensor execute_model(const SchedulerOutput& sched) {
    update_states(sched);
    at::Tensor lens = build_seq_lens(sched);
    at::Tensor draft = at::randint(0, 4, {sched.num_reqs, sched.num_spec_tokens}, at::device(device_).dtype(at::kLong));
    at::Tensor target = at::remainder(draft + lens.unsqueeze(1), 4);
    at::Tensor accepted = sampler_.forward(draft, target);
    update_states_after_model_execute(accepted);
    return accepted;
  }

  int64_t total_len() const { return std::accumulate(batch_.seq_lens.begin(), batch_.seq_lens.end(), int64_t{0}); }

 private:
  // Advances the lengths by what the previous step accepted.
  void update_states(const SchedulerOutput& sched) {
    if (!sched.spec_decode()) {
      return;
    }
    accepted_event_.synchronize();
    const int32_t* accepted = batch_.num_accepted_tokens_cpu.const_data_ptr<int32_t>();
    for (const auto i : c10::irange(sched.num_reqs)) {
      batch_.seq_lens[i] += accepted[i];
    }
  }

  at::Tensor build_seq_lens(const SchedulerOutput& sched) const {
    // Small table: a plain pageable tensor, copied synchronously
    at::Tensor host = at::empty({sched.num_reqs}, at::kLong);
    std::copy_n(batch_.seq_lens.begin(), sched.num_reqs, host.mutable_data_ptr<int64_t>());
    return host.to(device_);
  }

  void update_states_after_model_execute(const at::Tensor& accepted) {
    batch_.num_accepted_tokens_cpu.narrow(0, 0, accepted.size(0)).copy_(accepted, /*non_blocking=*/true);
    accepted_event_.record();
  }

  at::Device device_;
  InputBatch batch_;
  RejectionSampler sampler_;
  at::cuda::CUDAEvent accepted_event_;
};

} // namespace vllm::v1

int main() {
  vllm::v1::GPUModelRunner runner(64, at::Device(at::kCUDA, 0));
  vllm::v1::SchedulerOutput sched{64, 4};
  at::Tensor last;
  for (int step = 0; step < 32; ++step) {
    last = runner.execute_model(sched);
  }
  return last.sum().item<int64_t>() > 0 && runner.total_len() > 0 ? 0 : 1;
}
