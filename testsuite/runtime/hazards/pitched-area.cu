// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies of one pitched area race: the report gives all the bytes that they have in common, not one row.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race on device memory 0x{{[0-9a-f]+}} [4096 bytes overlap: 16 rows of 256 bytes, 1024 apart]
// CHECK: Read by cudaMemcpy2DAsync
// CHECK: write by cudaMemcpy2DAsync
#include "must.h"

int main() {
  char* host;
  must(cudaMallocHost(&host, 16 * 256));
  char* area;
  must(cudaMalloc(&area, 16 * 1024));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemcpy2DAsync(area, 1024, host, 256, 256, 16, cudaMemcpyHostToDevice, s1));
  must(cudaMemcpy2DAsync(host, 256, area, 1024, 256, 16, cudaMemcpyDeviceToHost, s2));
}
