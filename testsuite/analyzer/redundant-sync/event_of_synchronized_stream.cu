// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// Waiting for an event whose stream was synchronised after its record.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t s) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(e, s);
  cudaStreamSynchronize(s);
#ifndef FIXED
  cudaEventSynchronize(e);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventSynchronize is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-4]]:3: note: cudaStreamSynchronize has waited for the same work here
#endif
  cudaEventDestroy(e);
}
