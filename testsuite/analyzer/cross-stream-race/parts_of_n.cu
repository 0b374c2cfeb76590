// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// n elements, and what begins n elements later: apart, whatever n is. With one element more they meet.
#include <cuda_runtime.h>

void upload(float* device, const float* pinned, size_t n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemcpyAsync(device, pinned, n * sizeof(float), cudaMemcpyHostToDevice, a);
#else
  cudaMemcpyAsync(device, pinned, (n + 1) * sizeof(float), cudaMemcpyHostToDevice, a);
#endif
  cudaMemcpyAsync(device + n, pinned + n, n * sizeof(float), cudaMemcpyHostToDevice, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'b' may write 'device' while cudaMemcpyAsync (host to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'device' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
