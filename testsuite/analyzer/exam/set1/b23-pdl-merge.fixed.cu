// Block merge with programmatic dependent launch.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace msort {

// First kernel: finds, for each output tile, how many items come from run A.
__global__ void partition_runs(const int32_t* a, int na, const int32_t* b, int nb, int tile, int* bounds,
                               int num_bounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
  if (t >= num_bounds) return;
  int diag = min(t * tile, na + nb);
  int lo = max(0, diag - nb);
  int hi = min(diag, na);
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (a[mid] <= b[diag - 1 - mid]) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  bounds[t] = lo;
}

__global__ void merge_blocks(const int32_t* a, int na, const int32_t* b, int nb, int tile,
                             const int* bounds, int32_t* out) {
  const int t = blockIdx.x;
  const int total = na + nb;
  const int diag0 = t * tile;
  const int diag1 = min(diag0 + tile, total);
  cudaGridDependencySynchronize();
  const int a0 = bounds[t];
  const int a1 = bounds[t + 1];
  const int b0 = diag0 - a0;
  const int b1 = diag1 - a1;


  for (int i = threadIdx.x; i < a1 - a0; i += blockDim.x) {
    const int32_t key = a[a0 + i];
    int lo = b0, hi = b1;
    while (lo < hi) {
      int mid = (lo + hi) >> 1;
      if (b[mid] < key) lo = mid + 1; else hi = mid;
    }
    out[a0 + i + lo] = key;
  }
  for (int i = threadIdx.x; i < b1 - b0; i += blockDim.x) {
    const int32_t key = b[b0 + i];
    int lo = a0, hi = a1;
    while (lo < hi) {
      int mid = (lo + hi) >> 1;
      if (a[mid] <= key) lo = mid + 1; else hi = mid;
    }
    out[b0 + i + lo] = key;
  }
}

struct MergeProblem {
  const int32_t* a;
  int na;
  const int32_t* b;
  int nb;
  int32_t* out;
};

/// `bounds` has room for ceil((na + nb) / tile) + 1 items.
cudaError_t merge(const MergeProblem& p, int tile, int* bounds, cudaStream_t stream) {
  const int tiles = (p.na + p.nb + tile - 1) / tile;
  if (tiles == 0) return cudaSuccess;

  partition_runs<<<(tiles + 1 + 127) / 128, 128, 0, stream>>>(p.a, p.na, p.b, p.nb, tile, bounds, tiles + 1);
  cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess) return e;

  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;

  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(tiles);
  cfg.blockDim = dim3(256);
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  return cudaLaunchKernelEx(&cfg, merge_blocks, p.a, p.na, p.b, p.nb, tile, static_cast<const int*>(bounds),
                            p.out);
}

}  // namespace msort
