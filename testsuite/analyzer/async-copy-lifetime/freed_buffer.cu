// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// free() right after the copy was enqueued.
#include <cuda_runtime.h>

#include <cstdlib>

void upload(int* device, int n, cudaStream_t stream) {
  int* host = static_cast<int*>(std::malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  std::free(host);  // FIRES: async-copy-lifetime
}
