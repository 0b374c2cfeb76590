// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A synchronous cudaMemcpy waits for its own copy, not for a non-blocking stream that computes the data (R-CPY-11).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}cudaMemcpy {{.*}}legacy
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}compute{{.*}}(non-blocking)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=nonblocking-vs-legacy
#include "must.h"

__global__ void compute(char*) {}

int main() {
  static char host[4096];
  char* buffer;
  must(cudaMalloc(&buffer, sizeof host));
  cudaStream_t stream;
#ifdef FIXED
  must(cudaStreamCreate(&stream));
#else
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
  compute<<<1, 32, 0, stream>>>(buffer);  // @WRITE
  must(cudaGetLastError());
  must(cudaMemcpy(host, buffer, sizeof host, cudaMemcpyDeviceToHost));  // @READ
}
