// Filters detection boxes with a kernel of its own; the count comes back through
// a pinned tensor that is read after its event.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <vector>

namespace boxes {
namespace {

__global__ void filter_kernel(
    const float* __restrict__ scores,
    const float4* __restrict__ in,
    float4* __restrict__ out,
    int* __restrict__ count,
    int n,
    float threshold) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && scores[i] > threshold) {
    out[atomicAdd(count, 1)] = in[i];
  }
}

class PendingCount {
 public:
  explicit PendingCount(const at::Tensor& device_count)
      : host_(at::empty({1}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))) {
    host_.copy_(device_count, /*non_blocking=*/true);
    copied_.record();
  }
  int64_t get() const {
    copied_.synchronize();
    return host_.const_data_ptr<int>()[0];
  }

 private:
  at::Tensor host_;
  at::cuda::CUDAEvent copied_;
};

struct Candidate {
  at::Tensor boxes;
  PendingCount count;
};

Candidate launch_filter(const at::Tensor& scores, const at::Tensor& boxes, double threshold) {
  const at::Tensor s = scores.contiguous();
  const at::Tensor b = boxes.contiguous();
  const int n = static_cast<int>(s.numel());
  at::Tensor kept = at::empty_like(b);
  at::Tensor count = at::zeros({1}, b.options().dtype(at::kInt));
  if (n > 0) {
    filter_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        s.const_data_ptr<float>(),
        reinterpret_cast<const float4*>(b.const_data_ptr<float>()),
        reinterpret_cast<float4*>(kept.mutable_data_ptr<float>()),
        count.mutable_data_ptr<int>(),
        n,
        static_cast<float>(threshold));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return Candidate{kept, PendingCount(count)};
}

} // namespace

// One entry for each image. All filters are queued before the first count is read.
std::vector<at::Tensor> filter_batch(
    const std::vector<at::Tensor>& scores,
    const std::vector<at::Tensor>& boxes,
    double threshold) {
  TORCH_CHECK(scores.size() == boxes.size());
  std::vector<at::Tensor> result;
  if (scores.empty())
    return result;
  const c10::cuda::CUDAGuard device_guard(scores[0].device());
  std::vector<Candidate> pending;
  pending.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    pending.push_back(launch_filter(scores[i], boxes[i], threshold));
  for (auto& c : pending)
    result.push_back(c.boxes.narrow(0, 0, c.count.get()));
  return result;
}

} // namespace boxes
