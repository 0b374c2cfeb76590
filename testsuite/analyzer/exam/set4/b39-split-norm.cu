#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace splitnorm {

constexpr int kThreads = 256;
constexpr int kSplits = 64;

__global__ void partialMoments(const float* x, int64_t cols, float2* partial) {
  const int64_t row = blockIdx.y;
  float s = 0.f, q = 0.f;
  for (int64_t c = blockIdx.x * kThreads + threadIdx.x; c < cols; c += int64_t(gridDim.x) * kThreads) {
    float v = x[row * cols + c];
    s += v;
    q += v * v;
  }
  __shared__ float2 acc[kThreads];
  acc[threadIdx.x] = make_float2(s, q);
  __syncthreads();
  for (int o = kThreads / 2; o > 0; o >>= 1) {
    if (threadIdx.x < o) {
      acc[threadIdx.x].x += acc[threadIdx.x + o].x;
      acc[threadIdx.x].y += acc[threadIdx.x + o].y;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[row * kSplits + blockIdx.x] = acc[0];
}

__global__ void normalizeRows(const float* x, const float2* partial, int64_t cols, float eps, float* y) {
  const int64_t row = blockIdx.y;
  float s = 0.f, q = 0.f;
  for (int i = 0; i < kSplits; ++i) {
    s += partial[row * kSplits + i].x;
    q += partial[row * kSplits + i].y;
  }
  const float mean = s / cols, inv = rsqrtf(q / cols - mean * mean + eps);
  for (int64_t c = blockIdx.x * kThreads + threadIdx.x; c < cols; c += int64_t(gridDim.x) * kThreads)
    y[row * cols + c] = (x[row * cols + c] - mean) * inv;
}

class WorkspaceCache {
 public:
  static WorkspaceCache& instance() {
    static WorkspaceCache* cache = new WorkspaceCache;
    return *cache;
  }

  at::Tensor get(c10::DeviceIndex device, int64_t rows) {
    std::lock_guard<std::mutex> lock(mutex_);
    at::Tensor& ws = cache_[std::make_tuple(device, rows)];
    if (!ws.defined()) {
      ws = at::empty({rows, kSplits, 2}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device));
    }
    return ws;
  }

 private:
  using Key = std::tuple<c10::DeviceIndex, int64_t>;
  std::mutex mutex_;
  std::map<Key, at::Tensor> cache_;
};

at::Tensor split_norm(const at::Tensor& x, double eps) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous() && x.scalar_type() == at::kFloat);
  c10::cuda::CUDAGuard guard(x.device());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const int64_t rows = x.size(0), cols = x.size(1);
  at::Tensor y = at::empty_like(x);
  at::Tensor ws = WorkspaceCache::instance().get(x.device().index(), rows);
  auto* partial = reinterpret_cast<float2*>(ws.data_ptr<float>());
  const dim3 grid(kSplits, static_cast<unsigned>(rows));
  partialMoments<<<grid, kThreads, 0, stream>>>(x.data_ptr<float>(), cols, partial);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  normalizeRows<<<grid, kThreads, 0, stream>>>(x.data_ptr<float>(), partial, cols, static_cast<float>(eps),
                                               y.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

// Query and key branches are independent: one of them goes to a side stream.
std::pair<at::Tensor, at::Tensor> qk_norm(const at::Tensor& q, const at::Tensor& k, double eps) {
  const auto main = c10::cuda::getCurrentCUDAStream(q.device().index());
  static thread_local const auto side = c10::cuda::getStreamFromPool(true, q.device().index());
  at::cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);

  at::Tensor kn;
  {
    c10::cuda::CUDAStreamGuard on_side(side);
    kn = split_norm(k, eps);
    join.record(side);
  }
  at::Tensor qn = split_norm(q, eps);
  join.block(main);
  kn.record_stream(main);
  return {qn, kn};
}

}  // namespace splitnorm
