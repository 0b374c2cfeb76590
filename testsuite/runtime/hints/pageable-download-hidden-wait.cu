// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four bytes to pageable memory, and on to the next kernels: the copy has made the host wait each time. Where a
// synchronisation follows, because the value is wanted now, as in loss.item(), the wait is no loss.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: pageable-copy: 20 asynchronous copies to pageable host memory, 80 bytes in all.
// CHECK-NEXT: Evidence: After 19 of 20 copies the host went on to launch kernels and waited for nothing: it had waited in the copy.
// CHECK-NEXT: cudaMemcpyAsync (device to host) on stream 1
// CHECK-NEXT: main{{.*}}[[COPY]]
// CHECK-NEXT: Fix: use pinned memory, from cudaMallocHost, and wait where the host needs the data.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void step(float*) {}

int main() {
  static float losses[20];
  float* loss;
  must(cudaMalloc(&loss, sizeof *loss));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (float& each : losses) {
    step<<<1, 32, 0, stream>>>(loss);
    must(cudaMemcpyAsync(&each, loss, sizeof each, cudaMemcpyDeviceToHost, stream));  // @COPY
#ifdef FIXED
    must(cudaStreamSynchronize(stream));
#endif
  }
  must(cudaStreamSynchronize(stream));
}
