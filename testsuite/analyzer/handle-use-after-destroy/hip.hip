// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// hipStreamDestroy, then a launch.
#include <hip/hip_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  hipStream_t s;
  (void)hipStreamCreate(&s);
#ifdef FIXED
  work<<<1, 256, 0, s>>>(x);
  (void)hipStreamDestroy(s);
#else
  (void)hipStreamDestroy(s);
  work<<<1, 256, 0, s>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 's' is used by kernel 'work' after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-3]]:9: note: stream 's' is destroyed here
// CHECK-NOTES: :[[@LINE-9]]:9: note: stream 's' is created here
#endif
}
