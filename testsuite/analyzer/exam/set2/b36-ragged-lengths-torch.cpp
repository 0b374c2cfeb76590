#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <vector>

namespace ragged {

struct RaggedBatch {
  at::Tensor values;   // [total, dim]
  at::Tensor lengths;  // [batch] int64, on the device
};

static void check_batch(const RaggedBatch& batch) {
  TORCH_CHECK(batch.values.dim() == 2, "values must be 2-D, got ", batch.values.sizes());
  TORCH_CHECK(batch.lengths.dim() == 1, "lengths must be 1-D");
  TORCH_CHECK(batch.lengths.is_cuda() && batch.values.device() == batch.lengths.device());
}

// Splits the batch into padded chunks of at most max_rows rows; the padding
// depends on the longest row of each chunk, which is why the lengths have to
// come to the host.
std::vector<at::Tensor> to_padded_chunks(const RaggedBatch& batch, int64_t max_rows, double fill) {
  check_batch(batch);
  const c10::cuda::CUDAGuard device_guard(batch.values.device());

  const at::Tensor cleaned = batch.lengths.clamp_min(0).to(at::kLong);
  const at::Tensor host = cleaned.to(at::kCPU, /*non_blocking=*/true);
  const at::Tensor ends = at::cumsum(cleaned, 0);

  const auto lengths = host.accessor<int64_t, 1>();
  const int64_t rows = host.size(0);
  std::vector<at::Tensor> chunks;
  chunks.reserve((rows + max_rows - 1) / max_rows);

  int64_t consumed = 0;
  for (int64_t first = 0; first < rows; first += max_rows) {
    const int64_t last = std::min(rows, first + max_rows);
    int64_t longest = 0;
    int64_t total = 0;
    for (int64_t r = first; r < last; ++r) {
      longest = std::max(longest, lengths[r]);
      total += lengths[r];
    }
    at::Tensor padded =
        at::full({last - first, longest, batch.values.size(1)}, fill, batch.values.options());
    const at::Tensor rel_ends = ends.slice(0, first, last) - consumed;
    const at::Tensor begins = rel_ends - cleaned.slice(0, first, last);
    const at::Tensor cols = at::arange(longest, begins.options());
    const at::Tensor mask = cols.unsqueeze(0).lt(cleaned.slice(0, first, last).unsqueeze(1));
    padded.masked_scatter_(mask.unsqueeze(2), batch.values.slice(0, consumed, consumed + total));
    consumed += total;
    chunks.push_back(std::move(padded));
  }
  return chunks;
}

} // namespace ragged
