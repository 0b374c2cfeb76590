// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// reset() frees the array under the copy.
#include <cuda_runtime.h>

#include <memory>

void download(const float* device, int n, cudaStream_t stream) {
  auto host = std::make_unique<float[]>(n);
  cudaMemcpyAsync(host.get(), device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  host.reset();  // FIRES: async-copy-lifetime
  cudaStreamSynchronize(stream);
}
