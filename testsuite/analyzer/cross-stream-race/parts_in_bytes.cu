// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// One block cut by byte offsets: casts between the steps of a char*, a void* and a float* change nothing. The first 512
// bytes are one part, 256 floats from there on another.
#include <cuda_runtime.h>

void upload(void* block, const float* pinned) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  auto* weights = reinterpret_cast<float*>(block);
  auto* bias = reinterpret_cast<float*>(static_cast<char*>(block) + 256);
#ifdef FIXED
  float* used = bias + 64;
#else
  float* used = bias + 63;
#endif
  cudaMemcpyAsync(weights, pinned, 512, cudaMemcpyHostToDevice, a);
  cudaMemsetAsync(used, 0, 1024, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemsetAsync on stream 'b' may write 'used' while cudaMemcpyAsync (host to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'used' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cudaMemsetAsync
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
