// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// cudaFree while a kernel may run: right only if cudaFree waits for the device, which is not promised.
#include <cuda_runtime.h>

__global__ void use(float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

void run(float* out, size_t bytes, cudaStream_t stream) {
  float* scratch = nullptr;
  cudaMalloc(&scratch, bytes);
  use<<<1, 256, 0, stream>>>(scratch, out);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  cudaFree(scratch);  // FIRES: premature-free
}
