#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kvcache {

using RequestId = uint64_t;

class BlockTable {
 public:
  BlockTable(int64_t max_batch, int64_t max_blocks, c10::Device device)
      : max_batch_(max_batch),
        max_blocks_(max_blocks),
        host_options_(at::TensorOptions().dtype(at::kInt).pinned_memory(true)),
        device_(at::zeros({max_batch, max_blocks}, at::TensorOptions().dtype(at::kInt).device(device))) {}

  void append(RequestId id, int32_t block) {
    auto& blocks = blocks_[id];
    TORCH_CHECK(static_cast<int64_t>(blocks.size()) < max_blocks_, "request ", id, " is too long");
    blocks.push_back(block);
  }

  void finish(RequestId id) { blocks_.erase(id); }

  // Publishes the tables of the scheduled requests to the device, in the order of the
  // current stream, and returns the rows in use.
  at::Tensor prepare(const std::vector<RequestId>& scheduled) {
    const int64_t n = static_cast<int64_t>(scheduled.size());
    TORCH_CHECK(n <= max_batch_);
    at::Tensor host = at::empty({max_batch_, max_blocks_}, host_options_);
    fill_rows(host, scheduled);
    device_.narrow(0, 0, n).copy_(host.narrow(0, 0, n), /*non_blocking=*/true);
    return device_.narrow(0, 0, n);
  }

 private:
  void fill_rows(at::Tensor& table, const std::vector<RequestId>& scheduled) const {
    int32_t* out = table.mutable_data_ptr<int32_t>();
    for (RequestId id : scheduled) {
      const auto it = blocks_.find(id);
      TORCH_CHECK(it != blocks_.end(), "unknown request ", id);
      int64_t col = 0;
      for (int32_t b : it->second) out[col++] = b;
      while (col < max_blocks_) out[col++] = -1;
      out += max_blocks_;
    }
  }

  int64_t max_batch_;
  int64_t max_blocks_;
  at::TensorOptions host_options_;
  at::Tensor device_;
  std::unordered_map<RequestId, std::vector<int32_t>> blocks_;
};

// Runs `steps` decode steps; the host does not wait for the device in between.
at::Tensor decode(BlockTable& table, const std::vector<RequestId>& ids, const at::Tensor& cache, at::Tensor state,
                  int64_t steps) {
  for (int64_t s = 0; s < steps; ++s) {
    for (RequestId id : ids) table.append(id, static_cast<int32_t>(s));
    at::Tensor rows = table.prepare(ids);
    at::Tensor picked = cache.index_select(0, rows.clamp_min(0).reshape({-1}).to(at::kLong));
    state = at::tanh(state + picked.mean(0));
  }
  return state;
}

} // namespace kvcache
