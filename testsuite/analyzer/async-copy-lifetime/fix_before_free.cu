// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent --fix
//
// --fix waits before the buffer is freed.
#include <cuda_runtime.h>

#include <cstdlib>

void run(int* device, int n, cudaStream_t stream) {
  int* host = static_cast<int*>(std::malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
  std::free(host);  // FIRES: async-copy-lifetime
}
// CHECK-FIXES: cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: std::free(host);
