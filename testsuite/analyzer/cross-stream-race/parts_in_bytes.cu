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
  cudaMemsetAsync(used, 0, 1024, b);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
