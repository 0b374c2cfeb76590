// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Different constant parts of one allocation do not overlap; the third copy does.
#include <cuda_runtime.h>

void scatter(float* device, const float* pinned) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaMemcpyAsync(device, pinned, 128 * sizeof(float), cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(device + 128, pinned + 128, 128 * sizeof(float), cudaMemcpyHostToDevice, b);
#ifndef FIXED
  cudaMemcpyAsync(device + 64, pinned + 64, 128 * sizeof(float), cudaMemcpyHostToDevice, a);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'a' may write 'device' while cudaMemcpyAsync (host to device) on stream 'b' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'device' is written here, on stream 'b'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'a' after stream 'b': record an event in stream 'b' after the write and let stream 'a' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
