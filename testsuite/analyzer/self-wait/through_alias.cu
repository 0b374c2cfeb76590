// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check self-wait %s
// RUN: %check self-wait %s -- -DFIXED
//
// Two names for one stream.
#include <cuda_runtime.h>

__global__ void first(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t compute, io;
  cudaEvent_t e;
  cudaStreamCreate(&compute);
  cudaStreamCreate(&io);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
#ifdef FIXED
  cudaStream_t copy = io;
#else
  cudaStream_t copy = compute;
#endif
  first<<<1, 256, 0, compute>>>(x);
  cudaEventRecord(e, compute);
  cudaStreamWaitEvent(copy, e, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'copy' waits for event 'e', which it recorded itself: the wait does nothing [streamsan-self-wait]
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'e' is recorded here on stream 'compute'
  cudaDeviceSynchronize();
}
