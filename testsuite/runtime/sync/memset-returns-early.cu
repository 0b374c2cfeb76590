// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaMemset without "Async" does not wait either (R-CPY-50).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemset {{.*}}legacy
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=nonblocking-vs-legacy
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemset(buffer, 0, 1 << 20));  // @WRITE
#ifdef FIXED
  must(cudaDeviceSynchronize());
#endif
  consume<<<1, 32, 0, stream>>>(buffer);  // @READ
  must(cudaGetLastError());
}
