// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel in one stream reads what a copy in another stream writes.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume(float const*){{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync{{.*}}(non-blocking)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: allocated by cudaMalloc
// CHECK-NEXT: main{{.*}}[[BUFFER]]
// CHECK: cause=no-edge
// CHECK: SUMMARY: streamsan:
#include "must.h"

__global__ void consume(const float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));  // @BUFFER
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t copied;
  must(cudaEventCreate(&copied));

  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
#ifdef FIXED
  must(cudaEventRecord(copied, s1));
  must(cudaStreamWaitEvent(s2, copied));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
