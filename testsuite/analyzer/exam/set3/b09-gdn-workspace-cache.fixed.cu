#include <cuda_runtime.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <tuple>

#define FLASHINFER_CUDA_CALL(func)                                                    \
  {                                                                                   \
    cudaError_t e = (func);                                                           \
    if (e != cudaSuccess) {                                                           \
      std::ostringstream os;                                                          \
      os << "CUDA Error: " << cudaGetErrorString(e) << " (" << e << ") " << __FILE__; \
      throw std::runtime_error(os.str());                                             \
    }                                                                                 \
  }

namespace gdn {

// Persistent staging for the WY representation. Kept alive between calls so that repeated
// prefills of one shape do not pay for allocation.
class StagingCache {
 public:
  static StagingCache& instance() {
    static StagingCache* cache = new StagingCache();
    return *cache;
  }

  half* get(size_t bytes, cudaStream_t stream) {
    int device = 0;
    FLASHINFER_CUDA_CALL(cudaGetDevice(&device));
    const Key key{device, bytes, stream};
    std::lock_guard<std::mutex> lock(mu_);
    auto it = buffers_.find(key);
    if (it == buffers_.end()) {
      void* p = nullptr;
      FLASHINFER_CUDA_CALL(cudaMalloc(&p, bytes));
      it = buffers_.emplace(key, static_cast<half*>(p)).first;
    }
    return it->second;
  }

 private:
  using Key = std::tuple<int, size_t, cudaStream_t>;
  std::mutex mu_;
  std::map<Key, half*> buffers_;
};

struct PrefillParams {
  const half* k;
  const half* v;
  half* o;
  uint32_t seq_len;
  uint32_t head_dim;
  float beta;
};

template <uint32_t CHUNK>
__global__ void BuildWYKernel(const half* __restrict__ k, half* __restrict__ wy, uint32_t n, float beta) {
  const uint32_t i = blockIdx.x * CHUNK + threadIdx.x;
  if (i < n) wy[i] = __float2half(__half2float(k[i]) * beta);
}

template <uint32_t CHUNK>
__global__ void ApplyWYKernel(const half* __restrict__ wy, const half* __restrict__ v, half* __restrict__ o, uint32_t n) {
  const uint32_t i = blockIdx.x * CHUNK + threadIdx.x;
  if (i < n) o[i] = __float2half(__half2float(v[i]) - __half2float(wy[n - 1 - i]));
}

template <uint32_t CHUNK = 256>
cudaError_t LaunchBuildWY(const PrefillParams& p, half* wy, cudaStream_t stream) {
  const uint32_t n = p.seq_len * p.head_dim;
  BuildWYKernel<CHUNK><<<(n + CHUNK - 1) / CHUNK, CHUNK, 0, stream>>>(p.k, wy, n, p.beta);
  return cudaGetLastError();
}

template <uint32_t CHUNK = 256>
cudaError_t LaunchApplyWY(const PrefillParams& p, const half* wy, cudaStream_t stream) {
  const uint32_t n = p.seq_len * p.head_dim;
  ApplyWYKernel<CHUNK><<<(n + CHUNK - 1) / CHUNK, CHUNK, 0, stream>>>(wy, p.v, p.o, n);
  return cudaGetLastError();
}

void ChunkGatedDeltaRulePrefill(const PrefillParams& params, cudaStream_t stream) {
  half* wy = StagingCache::instance().get(sizeof(half) * params.seq_len * params.head_dim, stream);
  FLASHINFER_CUDA_CALL(LaunchBuildWY<>(params, wy, stream));
  FLASHINFER_CUDA_CALL(LaunchApplyWY<>(params, wy, stream));
}

}  // namespace gdn

int main() {
  const uint32_t seq = 8192, dim = 128;
  cudaStream_t streams[2];
  gdn::PrefillParams req[2];
  half* bufs[2][3];
  for (int i = 0; i < 2; ++i) {
    FLASHINFER_CUDA_CALL(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (auto& b : bufs[i]) {
      FLASHINFER_CUDA_CALL(cudaMalloc(&b, sizeof(half) * seq * dim));
      FLASHINFER_CUDA_CALL(cudaMemsetAsync(b, 0, sizeof(half) * seq * dim, streams[i]));
    }
    req[i] = {bufs[i][0], bufs[i][1], bufs[i][2], seq, dim, 0.25f + i};
  }
  for (int it = 0; it < 100; ++it) {
    gdn::ChunkGatedDeltaRulePrefill(req[0], streams[0]);
    gdn::ChunkGatedDeltaRulePrefill(req[1], streams[1]);
  }
  for (int i = 0; i < 2; ++i) {
    FLASHINFER_CUDA_CALL(cudaStreamSynchronize(streams[i]));
    for (auto& b : bufs[i]) FLASHINFER_CUDA_CALL(cudaFree(b));
    FLASHINFER_CUDA_CALL(cudaStreamDestroy(streams[i]));
  }
  return 0;
}
