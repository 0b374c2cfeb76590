// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pinned staging buffer: a result is copied out into it in one stream and copied on from it in another.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[WRITE]]
// CHECK: allocated by
// CHECK-NEXT: main{{.*}}[[STAGING]]
#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *a, *b, *staging;
  must(cudaMalloc(&a, kBytes));
  must(cudaMalloc(&b, kBytes));
  must(cudaMallocHost(&staging, kBytes));  // @STAGING
  cudaStream_t out, in;
  must(cudaStreamCreate(&out));
  must(cudaStreamCreate(&in));
  cudaEvent_t landed;
  must(cudaEventCreate(&landed));

  must(cudaMemcpyAsync(staging, a, kBytes, cudaMemcpyDeviceToHost, out));  // @WRITE
#ifdef FIXED
  must(cudaEventRecord(landed, out));
  must(cudaStreamWaitEvent(in, landed));
#endif
  must(cudaMemcpyAsync(b, staging, kBytes, cudaMemcpyHostToDevice, in));  // @READ
}
