// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The vector lives for one iteration, the synchronisation comes after the loop.
#include <cuda_runtime.h>

#include <vector>

void upload_rows(float* const* rows, int n, int width, cudaStream_t stream) {
  for (int i = 0; i < n; ++i) {
    std::vector<float> row(width, static_cast<float>(i));
    cudaMemcpyAsync(rows[i], row.data(), width * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }  // FIRES: async-copy-lifetime
  cudaStreamSynchronize(stream);
}
