// Merge step of a tiled sort, launched with programmatic stream serialization behind the block sort.
// Modelled on NVIDIA/cccl#5456.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CubDebugExit(x)                                                                  \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kThreads = 128, kTile = kThreads, kTiles = 64, kItems = kTile * kTiles;

// Odd-even sort of one tile in shared memory; `spin` stands for a costly key transformation.
__global__ void device_block_sort(const unsigned* in, unsigned* out, int spin) {
  cudaTriggerProgrammaticLaunchCompletion();
  __shared__ unsigned s[kTile];
  int t = threadIdx.x;
  float burn = float(t);
  for (int k = 0; k < spin; ++k) burn = fmaf(burn, 0.9999f, 0.5f);
  s[t] = in[blockIdx.x * kTile + t] ^ (burn < -1.0f ? 1u : 0u);
  __syncthreads();
  for (int pass = 0; pass < kTile; ++pass) {
    int i = 2 * t + (pass & 1);
    if (i + 1 < kTile && s[i] > s[i + 1]) {
      unsigned a = s[i];
      s[i] = s[i + 1];
      s[i + 1] = a;
    }
    __syncthreads();
  }
  out[blockIdx.x * kTile + t] = s[t];
}

__device__ int lower_bound(const unsigned* a, int n, unsigned key, bool or_equal) {
  int lo = 0, hi = n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (a[mid] < key || (or_equal && a[mid] == key)) lo = mid + 1; else hi = mid;
  }
  return lo;
}

// Merges pairs of neighbouring tiles by rank.
__global__ void device_merge(const unsigned* in, unsigned* out) {
  const int pair = blockIdx.x, t = threadIdx.x;
  const unsigned* a = in + pair * 2 * kTile;
  const unsigned* b = a + kTile;
#ifdef FIXED
  cudaGridDependencySynchronize();
#endif
  unsigned ka = a[t], kb = b[t];
#ifndef FIXED
  cudaGridDependencySynchronize();
#endif
  int ra = t + lower_bound(b, kTile, ka, false);
  int rb = t + lower_bound(a, kTile, kb, true);
  out[pair * 2 * kTile + min(ra, 2 * kTile - 1)] = ka;
  out[pair * 2 * kTile + min(rb, 2 * kTile - 1)] = kb;
}

struct TripleChevron {
  cudaLaunchConfig_t cfg{};
  cudaLaunchAttribute attr{};
  TripleChevron(int grid, int block, cudaStream_t s, bool dependent) {
    cfg.gridDim = dim3(grid);
    cfg.blockDim = dim3(block);
    cfg.stream = s;
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = 1;
    cfg.attrs = &attr;
    cfg.numAttrs = dependent ? 1 : 0;
  }
  template <class... P, class... A>
  cudaError_t doit(void (*k)(P...), A... a) const { return cudaLaunchKernelEx(&cfg, k, P(a)...); }
};

int main() {
  cudaStream_t stream;
  CubDebugExit(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  unsigned *keys, *tmp, *sorted, *host;
  for (auto** p : {&keys, &tmp, &sorted}) CubDebugExit(cudaMalloc(p, kItems * sizeof(unsigned)));
  CubDebugExit(cudaMallocHost(&host, kItems * sizeof(unsigned)));
  CubDebugExit(cudaMemsetAsync(tmp, 0, kItems * sizeof(unsigned), stream));
  int bad = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kItems; ++i) host[i] = unsigned(i) * 2654435761u + round;
    CubDebugExit(cudaMemcpyAsync(keys, host, kItems * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
    TripleChevron plain(kTiles, kThreads, stream, false), dependent(kTiles / 2, kThreads, stream, true);
    CubDebugExit(plain.doit(device_block_sort, keys, tmp, 300000));
    CubDebugExit(dependent.doit(device_merge, tmp, sorted));
    CubDebugExit(cudaMemcpyAsync(host, sorted, kItems * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CubDebugExit(cudaStreamSynchronize(stream));
    for (int p = 0; p < kTiles / 2; ++p) bad += !std::is_sorted(host + p * 2 * kTile, host + (p + 1) * 2 * kTile);
  }
  std::printf("%d unsorted pairs\n", bad);
  cudaFree(keys), cudaFree(tmp), cudaFree(sorted), cudaFreeHost(host), cudaStreamDestroy(stream);
  CubDebugExit(cudaGetLastError());
  return 0;
}
