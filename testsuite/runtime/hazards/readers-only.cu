// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any number of readers may overlap: const pointers, and sources of copies. The twin lets one of them write.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DWRITER %s -o %t.writer
// RUN: %racy %t.writer 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: change(float*)
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void look(const float*) {}
__global__ void look_restrict(const float* __restrict__) {}
__global__ void change(float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float *buffer, *host;
  must(cudaMalloc(&buffer, kBytes));
  must(cudaMallocHost(&host, kBytes));
  cudaStream_t s1, s2, s3, s4;
  for (cudaStream_t* s : {&s1, &s2, &s3, &s4}) must(cudaStreamCreate(s));
  look<<<1, 32, 0, s1>>>(buffer);
  look_restrict<<<1, 32, 0, s2>>>(buffer);
  must(cudaMemcpyAsync(host, buffer, kBytes, cudaMemcpyDeviceToHost, s3));
#ifdef WRITER
  change<<<1, 32, 0, s4>>>(buffer);  // @WRITE
#endif
  must(cudaGetLastError());
}
