// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result is copied out in another stream than the one whose kernel computes it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}compute(float*)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=no-edge
#include "must.h"

__global__ void compute(float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t work, out;
  must(cudaStreamCreate(&work));
  must(cudaStreamCreate(&out));

  compute<<<8, 128, 0, work>>>(buffer);  // @WRITE
  must(cudaGetLastError());
#ifdef FIXED
  out = work;
#endif
  must(cudaMemcpyAsync(host, buffer, kBytes, cudaMemcpyDeviceToHost, out));  // @READ
}
