#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace attn {

struct SequenceInfo {
  int32_t length;
  int32_t first_block;
};

// Attention metadata of one step, built on the host and used on the device.
class MetadataBuilder {
 public:
  MetadataBuilder(int64_t max_batch, c10::Device device)
      : pinned_(at::empty({2, max_batch}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))),
        device_(at::empty({2, max_batch}, at::TensorOptions().dtype(at::kInt).device(device))) {}

  // Rows: sequence lengths, first blocks. Valid until the next call.
  at::Tensor build(std::span<const SequenceInfo> seqs) {
    const c10::cuda::CUDAGuard guard(device_.device());
    const auto n = static_cast<int64_t>(seqs.size());
    TORCH_CHECK(n <= pinned_.size(1), "batch of ", n, " is too large");

    auto acc = pinned_.accessor<int32_t, 2>();
    for (int64_t i = 0; i < n; ++i) {
      acc[0][i] = seqs[i].length;
      acc[1][i] = seqs[i].first_block;
    }

    device_.copy_(pinned_, /*non_blocking=*/true);
    copied_.record();
    return device_.narrow(1, 0, n);
  }

 private:
  at::Tensor pinned_;
  at::Tensor device_;
  at::cuda::CUDAEvent copied_;
};

// A few greedy steps; the host never waits for the device in between.
at::Tensor decode(MetadataBuilder& builder, std::vector<SequenceInfo> seqs, at::Tensor hidden,
                  const at::Tensor& weight, int steps) {
  std::vector<at::Tensor> out;
  for (int s = 0; s < steps; ++s) {
    at::Tensor meta = builder.build(seqs);
    at::Tensor scale = meta[0].to(at::kFloat).rsqrt().unsqueeze(1);
    hidden = at::tanh(at::matmul(hidden * scale, weight));
    out.push_back(hidden);
    for (auto& q : seqs) ++q.length;
  }
  return at::stack(out);
}

}  // namespace attn
