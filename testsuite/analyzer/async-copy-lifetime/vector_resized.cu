// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The vector grows, and with it its block moves, while the copy reads the old one.
#include <cuda_runtime.h>

#include <vector>

void upload(float* d_first, float* d_second, cudaStream_t stream) {
  std::vector<float> values(128, 1.0f);
  cudaMemcpyAsync(d_first, values.data(), 128 * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  values.resize(4096);  // FIRES: async-copy-lifetime
  cudaMemcpyAsync(d_second, values.data(), 4096 * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}
