// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that uses cudart as a shared library.
//
// RUN: %build_shared %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_shared -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %readelf -d %t | %sites --check-prefix=SHARED
//
// SHARED: NEEDED{{.*}}libcudart.so.13
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume(float const*)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void consume(const float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
  consume<<<1, 32, 0, s2>>>(buffer);                                        // @READ
  must(cudaGetLastError());
}
