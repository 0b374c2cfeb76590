// Order-book imbalance operator with a persistent scratch area.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <map>
#include <mutex>
#include <tuple>

namespace lob {

constexpr int kThreads = 256;

__global__ void level_partials(const float* bid, const float* ask, float2* partial, int64_t n) {
  __shared__ float2 acc[kThreads];
  float2 s = make_float2(0.f, 0.f);
  for (int64_t i = blockIdx.x * int64_t(kThreads) + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * kThreads) {
    s.x += bid[i] - ask[i];
    s.y += bid[i] + ask[i];
  }
  acc[threadIdx.x] = s;
  __syncthreads();
  for (int w = kThreads / 2; w > 0; w >>= 1) {
    if (threadIdx.x < w) {
      acc[threadIdx.x].x += acc[threadIdx.x + w].x;
      acc[threadIdx.x].y += acc[threadIdx.x + w].y;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = acc[0];
}

__global__ void fold_partials(const float2* partial, float* out, int blocks) {
  float num = 0.f, den = 1e-9f;
  for (int i = 0; i < blocks; ++i) {
    num += partial[i].x;
    den += partial[i].y;
  }
  *out = num / den;
}

// Scratch tensors are kept for the life of the process: the operator runs on every tick and
// must not allocate.
class ScratchCache {
 public:
  static ScratchCache& instance() {
    static auto* cache = new ScratchCache;
    return *cache;
  }

  at::Tensor get(const at::Tensor& like, int64_t floats) {
    std::lock_guard<std::mutex> lk(m_);
    const Key key{like.device().index(), floats};
    auto it = entries_.find(key);
    if (it == entries_.end())
      it = entries_.emplace(key, at::empty({floats}, like.options())).first;
    return it->second;
  }

 private:
  using Key = std::tuple<c10::DeviceIndex, int64_t>;
  std::mutex m_;
  std::map<Key, at::Tensor> entries_;
};

at::Tensor imbalance(const at::Tensor& bid, const at::Tensor& ask) {
  TORCH_CHECK(bid.is_cuda() && bid.is_contiguous() && ask.is_contiguous());
  c10::cuda::CUDAGuard guard(bid.device());
  const int64_t n = bid.numel();
  const int blocks = static_cast<int>(std::min<int64_t>((n + kThreads - 1) / kThreads, 512));
  at::Tensor scratch = ScratchCache::instance().get(bid, 2 * blocks);
  at::Tensor out = at::empty({}, bid.options());
  auto stream = at::cuda::getCurrentCUDAStream();
  auto* partial = reinterpret_cast<float2*>(scratch.mutable_data_ptr<float>());
  level_partials<<<blocks, kThreads, 0, stream>>>(bid.const_data_ptr<float>(),
                                                  ask.const_data_ptr<float>(), partial, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  fold_partials<<<1, 1, 0, stream>>>(partial, out.mutable_data_ptr<float>(), blocks);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// Imbalance of two venues, evaluated side by side.
std::tuple<at::Tensor, at::Tensor> venue_pair(const at::Tensor& bid_a, const at::Tensor& ask_a,
                                              const at::Tensor& bid_b, const at::Tensor& ask_b) {
  auto main = at::cuda::getCurrentCUDAStream();
  auto side = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);
  at::Tensor b;
  {
    c10::cuda::CUDAStreamGuard on_side(side);
    b = imbalance(bid_b, ask_b);
    join.record(side);
  }
  at::Tensor a = imbalance(bid_a, ask_a);
  join.block(main);
  bid_b.record_stream(side);
  ask_b.record_stream(side);
  b.record_stream(main);
  return {a, b};
}

}  // namespace lob

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("imbalance", &lob::imbalance);
  m.def("venue_pair", &lob::venue_pair);
}
