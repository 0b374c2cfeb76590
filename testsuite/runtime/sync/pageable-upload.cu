// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A synchronous upload from pageable memory returns when the data is staged; the transfer itself may still run
// (R-CPY-01). A kernel in a non-blocking stream then reads stale data: seen in nearly every run at this size on real
// hardware.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpy {{.*}}legacy
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  static char host[1 << 20];
  char* buffer;
  must(cudaMalloc(&buffer, sizeof host));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemcpy(buffer, host, sizeof host, cudaMemcpyHostToDevice));  // @WRITE
#ifdef FIXED
  must(cudaStreamSynchronize(0));
#endif
  consume<<<1, 32, 0, stream>>>(buffer);  // @READ
  must(cudaGetLastError());
}
