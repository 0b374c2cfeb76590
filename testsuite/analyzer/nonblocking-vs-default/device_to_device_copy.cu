// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A cudaMemcpy between device buffers does not even wait for itself.
#include <cuda_runtime.h>

__global__ void update(float* state) { state[threadIdx.x] += 1.0f; }

void checkpoint(float* state, float* saved, size_t bytes) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMemcpy(saved, state, bytes, cudaMemcpyDeviceToDevice);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  update<<<1, 256, 0, side>>>(state);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(side);
}
