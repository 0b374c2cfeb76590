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
  cudaMemcpyAsync(device + 64, pinned + 64, 128 * sizeof(float), cudaMemcpyHostToDevice, a);  // FIRES: cross-stream-race
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
