// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// Destroyed by the helper and again by the caller.
#include <cuda_runtime.h>

static void finish(cudaStream_t s) {
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}

void run(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMemsetAsync(x, 0, 1024, s);
  finish(s);
#ifndef FIXED
  cudaStreamDestroy(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 's' is used by cudaStreamDestroy after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 's' is destroyed here
// CHECK-NOTES: :[[@LINE-5]]:3: note: in the call to 'finish' here
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 's' is created here
#endif
}
