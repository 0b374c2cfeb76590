// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// rapidsai/rapidsmpf#1101, HL: the buffer maker copies from a local vector and returns only the device buffer.
#include <cuda_runtime.h>

#include <numeric>
#include <vector>

int* make_buffer(int n, cudaStream_t stream) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  int* device = nullptr;
  cudaMallocAsync(&device, n * sizeof(int), stream);
  cudaMemcpyAsync(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  return device;  // FIRES: async-copy-lifetime
}
