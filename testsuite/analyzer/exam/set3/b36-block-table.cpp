// V2 model runner: persistent block table with a pinned CPU mirror.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vllm {

struct ScheduledRequest {
  int64_t row;
  std::vector<int32_t> block_ids;
  int32_t seq_len;
};

struct SchedulerOutput {
  std::vector<ScheduledRequest> requests;
};

class CpuGpuBuffer {
 public:
  CpuGpuBuffer(std::vector<int64_t> shape, c10::Device device)
      : cpu_(at::zeros(shape, at::TensorOptions().dtype(at::kInt).pinned_memory(true))),
        gpu_(at::zeros(shape, at::TensorOptions().dtype(at::kInt).device(device))) {}

  int32_t* host() {
    return cpu_.mutable_data_ptr<int32_t>();
  }
  int64_t stride() const { return cpu_.dim() == 2 ? cpu_.size(1) : 1; }

  at::Tensor& copy_to_gpu() {
    gpu_.copy_(cpu_, /*non_blocking=*/true);
    return gpu_;
  }

 private:
  at::Tensor cpu_;
  at::Tensor gpu_;
};

class FlashInferMetadataBuilder {
 public:
  FlashInferMetadataBuilder(int64_t max_reqs, int64_t max_blocks, c10::Device device)
      : block_table_({max_reqs, max_blocks}, device) {}

  void fill(const SchedulerOutput& out) {
    int32_t* table = block_table_.host();
    const int64_t stride = block_table_.stride();
    for (const auto& r : out.requests) {
      TORCH_CHECK(static_cast<int64_t>(r.block_ids.size()) <= stride);
      std::copy(r.block_ids.begin(), r.block_ids.end(), table + r.row * stride);
    }
  }

  at::Tensor& commit() { return block_table_.copy_to_gpu(); }

 private:
  CpuGpuBuffer block_table_;
};

class GPUModelRunner {
 public:
  GPUModelRunner(int64_t max_reqs, int64_t max_blocks, at::Tensor kv_cache)
      : builder_(max_reqs, max_blocks, kv_cache.device()), kv_cache_(std::move(kv_cache)) {}

  // Returns without waiting for the device: the engine runs one step ahead.
  at::Tensor execute_model(const SchedulerOutput& out) {
    builder_.fill(out);
    at::Tensor& table = builder_.commit();
    at::Tensor gathered = kv_cache_.index_select(0, table.flatten());
    return gathered.mean(0);
  }

 private:
  FlashInferMetadataBuilder builder_;
  at::Tensor kv_cache_;
};

} // namespace vllm

std::vector<at::Tensor> run_engine(const std::vector<vllm::SchedulerOutput>& steps, at::Tensor kv_cache) {
  c10::cuda::CUDAGuard guard(kv_cache.device());
  vllm::GPUModelRunner runner(/*max_reqs=*/256, /*max_blocks=*/1024, kv_cache);
  std::vector<at::Tensor> hidden;
  for (const auto& step : steps) {
    hidden.push_back(runner.execute_model(step));
  }
  return hidden;
}
