// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// Destroying a stream does not wait; the synchronisation that follows uses a dead handle.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
#else
  cudaStreamDestroy(s);
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 's' is used by cudaStreamSynchronize after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-3]]:3: note: stream 's' is destroyed here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 's' is created here
#endif
}
