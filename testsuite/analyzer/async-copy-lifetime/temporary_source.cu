// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The source is a temporary: it is gone at the end of the statement.
#include <cuda_runtime.h>

#include <vector>

std::vector<float> make_table(int n);

void upload(float* device, int n, cudaStream_t stream) {
#ifdef FIXED
  const std::vector<float> table = make_table(n);
  cudaMemcpyAsync(device, table.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpyAsync(device, make_table(n).data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);  // FIRES: async-copy-lifetime
#endif
  cudaStreamSynchronize(stream);
}
