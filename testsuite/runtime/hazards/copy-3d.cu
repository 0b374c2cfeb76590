// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of one pitched volume: two that share a plane of cells race, two side by side do not.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemcpy3DAsync
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cudaMemcpy3DAsync
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  constexpr size_t kSide = 64;
  char *host, *volume;
  must(cudaMallocHost(&host, kSide * kSide * kSide));
  must(cudaMalloc(&volume, kSide * kSide * kSide));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  constexpr size_t kBegin = kSide / 2;
#else
  constexpr size_t kBegin = kSide / 2 - 1;
#endif
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host, kSide, kSide, kSide);
  copy.dstPtr = make_cudaPitchedPtr(volume, kSide, kSide, kSide);
  copy.extent = make_cudaExtent(kSide / 2, kSide, kSide);
  copy.kind = cudaMemcpyHostToDevice;
  must(cudaMemcpy3DAsync(&copy, s1));  // @FIRST
  copy.dstPos = make_cudaPos(kBegin, 0, 0);
  must(cudaMemcpy3DAsync(&copy, s2));  // @SECOND
}
