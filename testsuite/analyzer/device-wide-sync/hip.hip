// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// hipDeviceSynchronize where hipStreamSynchronize would do.
#include <hip/hip_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, hipStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
#ifdef FIXED
  (void)hipStreamSynchronize(stream);
#else
  (void)hipDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: hipDeviceSynchronize waits for the whole device where only stream 'stream' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-6]]:3: note: kernel 'work' is the last work on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:9: note: 'hipStreamSynchronize(stream)' waits for the same work
#endif
}
