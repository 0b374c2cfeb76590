// Sorts packed 64-bit k-mers: one bitonic pass per tile, then log2(n) merge passes.
// The merge passes are short, so each one is launched as a dependent of the previous
// one to hide its launch latency.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#define KM_CHECK(expr)                                                              \
  do {                                                                              \
    cudaError_t status_ = (expr);                                                   \
    if (status_ != cudaSuccess) {                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(EXIT_FAILURE);                                                      \
    }                                                                               \
  } while (0)

namespace kmer {

using key_t = std::uint64_t;
constexpr int kTile = 512;
constexpr int kThreads = 256;

__global__ void sort_tiles(const key_t* __restrict__ in, key_t* __restrict__ out) {
  __shared__ key_t tile[kTile];
  const int base = blockIdx.x * kTile;
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = in[base + i];
  __syncthreads();
  for (int size = 2; size <= kTile; size <<= 1) {
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      for (int i = threadIdx.x; i < kTile; i += blockDim.x) {
        const int j = i ^ stride;
        if (j > i) {
          const bool up = (i & size) == 0;
          const key_t a = tile[i], b = tile[j];
          if ((a > b) == up) {
            tile[i] = b;
            tile[j] = a;
          }
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) out[base + i] = tile[i];
}

// Number of elements of `a` among the first `diag` elements of merge(a, b).
__device__ int merge_path(const key_t* a, int na, const key_t* b, int nb, int diag) {
  int lo = max(0, diag - nb);
  int hi = min(diag, na);
  while (lo < hi) {
    const int mid = (lo + hi) >> 1;
    if (a[mid] <= b[diag - 1 - mid])
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

__global__ void merge_runs(const key_t* in, key_t* out, int run) {
  const int first = blockIdx.x * kTile;
  const int pair = first / (2 * run) * (2 * run);
  const key_t* a = in + pair;
  const key_t* b = a + run;
  const int per_thread = kTile / kThreads;
  const int diag = first - pair + threadIdx.x * per_thread;

  cudaGridDependencySynchronize();
  int i = merge_path(a, run, b, run, diag);
  int j = diag - i;

  for (int k = 0; k < per_thread; ++k) {
    const bool take_a = j >= run || (i < run && a[i] <= b[j]);
    out[pair + diag + k] = take_a ? a[i++] : b[j++];
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

template <typename... KArgs, typename... Args>
void launch_dependent(cudaStream_t stream, int blocks, int threads, void (*kernel)(KArgs...),
                      Args... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(blocks);
  cfg.blockDim = dim3(threads);
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  KM_CHECK(cudaLaunchKernelEx(&cfg, kernel, static_cast<KArgs>(args)...));
}

class Sorter {
 public:
  explicit Sorter(int capacity) : capacity_(capacity) {
    KM_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    KM_CHECK(cudaMalloc(&ping_, capacity * sizeof(key_t)));
    KM_CHECK(cudaMalloc(&pong_, capacity * sizeof(key_t)));
  }
  ~Sorter() {
    cudaStreamSynchronize(stream_);
    cudaFree(ping_);
    cudaFree(pong_);
    cudaStreamDestroy(stream_);
  }
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  // `keys.size()` must be a power of two and a multiple of the tile.
  void sort(std::vector<key_t>& keys) {
    const int n = static_cast<int>(keys.size());
    if (n > capacity_) std::abort();
    const std::size_t bytes = n * sizeof(key_t);
    KM_CHECK(cudaMemcpyAsync(pong_, keys.data(), bytes, cudaMemcpyHostToDevice, stream_));
    sort_tiles<<<n / kTile, kThreads, 0, stream_>>>(pong_, ping_);
    KM_CHECK(cudaGetLastError());
    key_t* src = ping_;
    key_t* dst = pong_;
    for (int run = kTile; run < n; run *= 2) {
      launch_dependent(stream_, n / kTile, kThreads, merge_runs, src, dst, run);
      std::swap(src, dst);
    }
    KM_CHECK(cudaMemcpyAsync(keys.data(), src, bytes, cudaMemcpyDeviceToHost, stream_));
    KM_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  int capacity_;
  cudaStream_t stream_ = nullptr;
  key_t* ping_ = nullptr;
  key_t* pong_ = nullptr;
};

}  // namespace kmer

int main() {
  constexpr int n = 1 << 18;
  std::mt19937_64 rng(20);
  std::vector<kmer::key_t> keys(n);
  for (auto& k : keys) k = rng();
  kmer::Sorter sorter(n);
  sorter.sort(keys);
  const bool ok = std::is_sorted(keys.begin(), keys.end());
  std::printf("%d k-mers %s\n", n, ok ? "sorted" : "NOT sorted");
  return ok ? 0 : 1;
}
