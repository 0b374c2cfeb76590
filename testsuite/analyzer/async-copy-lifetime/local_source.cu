// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The source is a local array that is gone when the function returns: right only as the driver stages it today.
#include <cuda_runtime.h>

void set_coefficients(float* d_coefficients, float a, float b, cudaStream_t stream) {
  const float coefficients[2] = {a, b};
  cudaMemcpyAsync(d_coefficients, coefficients, sizeof(coefficients), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}  // FIRES: async-copy-lifetime
