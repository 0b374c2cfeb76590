// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result comes from the second device, and the host waits for the first one, which happens to be current (R-SYN-03).
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_NULL_DEVICES=2 %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write host race on pinned host memory
// CHECK: Read by the host
// CHECK: main{{.*}}[[READ]]
// CHECK: write by cudaMemcpyAsync (device to host) on stream 1 of device 1 (non-blocking)
// CHECK: main{{.*}}[[COPY]]
// CHECK: No ordering: cudaDeviceSynchronize {{.*}}[[WAIT]]) waits for all work of device 0, and cudaMemcpyAsync (device to host) (op #{{[0-9]+}}) runs on device 1.
// CHECK: Fix: make device 1 current before cudaDeviceSynchronize {{.*}}[[WAIT]]); or call cudaStreamSynchronize(stream 1 of device 1)
// CHECK: cause=other-device
// CHECK-NOT: ERROR: streamsan:
#include "must.h"

__global__ void produce(int*) {}

int main() {
  int *result, *far;
  cudaStream_t stream;
  must(cudaMallocHost(&result, sizeof(int)));
  must(cudaSetDevice(1));
  must(cudaMalloc(&far, sizeof(int)));
  must(cudaMemset(far, 0, sizeof(int)));
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaDeviceSynchronize());

  produce<<<1, 32, 0, stream>>>(far);
  must(cudaGetLastError());
  must(cudaMemcpyAsync(result, far, sizeof(int), cudaMemcpyDeviceToHost, stream));  // @COPY
#ifndef FIXED
  must(cudaSetDevice(0));
#endif
  must(cudaDeviceSynchronize());  // @WAIT
  return *static_cast<volatile int*>(result);  // @READ
}
