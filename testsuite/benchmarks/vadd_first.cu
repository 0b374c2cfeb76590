// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch of a kernel that does nothing but move memory costs the GPU while it is measured. Each of nine kernels,
// alike but for a number, is launched once: a first launch is what StreamSan measures. The kernels take the time
// themselves, from the first block's begin to the last one's end, as what the host does around a measured launch
// (patching the code, reading the marks) is no part of it. One thread of each of the few large blocks does that, which
// is 1 of some 60 accesses of its warp.
//
// usage: vadd_first
// prints {"ms": ..., "launches": ...}: the median kernel
#include <cuda_runtime.h>

#include "steady.h"

namespace {

constexpr size_t kBytes = size_t{64} << 20;  // three arrays: the marks have room for them in a first launch
constexpr int kCount = kBytes / sizeof(float4);
constexpr int kBlocks = 264;
constexpr int kThreads = 1024;

struct Span {
  unsigned long long begin = ~0ull;
  unsigned long long end = 0;
};

__device__ Span g_span;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

template <int Number>
__global__ void vadd(const float4* left, const float4* right, float4* sum, int n) {
  if (threadIdx.x == 0) atomicMin(&g_span.begin, nanoseconds());
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float4 l = left[i], r = right[i];
    sum[i] = make_float4(l.x + r.x + Number, l.y + r.y, l.z + r.z, l.w + r.w);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(&g_span.end, nanoseconds());
}

struct Arrays {
  float4 *left, *right, *sum;
};

template <int Number>
void time_each(const Arrays& arrays, std::vector<double>& times) {
  Span span;
  MUST(cudaMemcpyToSymbol(g_span, &span, sizeof span) == cudaSuccess);
  vadd<Number><<<kBlocks, kThreads>>>(arrays.left, arrays.right, arrays.sum, kCount);
  MUST(cudaDeviceSynchronize() == cudaSuccess);
  MUST(cudaMemcpyFromSymbol(&span, g_span, sizeof span) == cudaSuccess);
  times.push_back((span.end - span.begin) * 1e-6);
  if constexpr (Number > 0) time_each<Number - 1>(arrays, times);
}

}  // namespace

int main() {
  Arrays arrays;
  for (float4** array : {&arrays.left, &arrays.right, &arrays.sum}) {
    MUST(cudaMalloc(array, kBytes) == cudaSuccess);
    MUST(cudaMemset(*array, 0, kBytes) == cudaSuccess);
  }
  std::vector<double> times;
  time_each<8>(arrays, times);
  print_median(times, static_cast<int>(times.size()));
  return 0;
}
