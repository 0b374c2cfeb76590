// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s
// RUN: %check async-copy-lifetime %s -- -DFIXED
//
// A vector whose block is registered (so the copy is truly asynchronous) dies before the copy is done.
#include <cuda_runtime.h>

#include <vector>

void upload(float* device, int n, cudaStream_t stream) {
  std::vector<float> values(n, 1.0f);
  cudaHostRegister(values.data(), n * sizeof(float), cudaHostRegisterDefault);
  cudaMemcpyAsync(device, values.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
  cudaHostUnregister(values.data());
#endif
}  // FIRES: async-copy-lifetime
