// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector addition that does nothing but move memory, timed: what it costs that the bytes of a kernel are known, once
// they are. Three arrays of 256 MiB; every launch has the same arguments, so what is to be learned is learned in the
// launches that are not timed.
//
// usage: vadd_learned [BLOCKS [LAUNCHES [UNTIMED]]]
// prints {"ms": ..., "launches": ...}: the median block, for one launch
#include <cuda_runtime.h>

#include "steady.h"

namespace {

__global__ void vadd(const float4* left, const float4* right, float4* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 l = left[i], r = right[i];
  sum[i] = make_float4(l.x + r.x, l.y + r.y, l.z + r.z, l.w + r.w);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr size_t kBytes = size_t{256} << 20;
  constexpr int kCount = kBytes / sizeof(float4);
  float4 *left, *right, *sum;
  MUST(cudaMalloc(&left, kBytes) == cudaSuccess);
  MUST(cudaMalloc(&right, kBytes) == cudaSuccess);
  MUST(cudaMalloc(&sum, kBytes) == cudaSuccess);
  MUST(cudaMemset(left, 0, kBytes) == cudaSuccess);
  MUST(cudaMemset(right, 0, kBytes) == cudaSuccess);
  time_steady(Plan(argc, argv, {.blocks = 20, .launches = 50, .untimed = 100}), [&] {
    vadd<<<(kCount + 255) / 256, 256>>>(left, right, sum, kCount);
    MUST(cudaGetLastError() == cudaSuccess);
  });
  return 0;
}
