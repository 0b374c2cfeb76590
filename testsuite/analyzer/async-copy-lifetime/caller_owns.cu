// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
//
// Memory that belongs to the caller, static memory and memory released to somebody else do not end here: silent.
#include <cuda_runtime.h>

#include <memory>
#include <vector>

static const float kTable[4] = {1, 2, 3, 4};

void from_static(float* device, cudaStream_t stream) {
  cudaMemcpyAsync(device, kTable, sizeof(kTable), cudaMemcpyHostToDevice, stream);
}

void from_parameter(float* device, const std::vector<float>& values, cudaStream_t stream) {
  cudaMemcpyAsync(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
}

float* released(const float* device, int n, cudaStream_t stream) {
  auto host = std::make_unique<float[]>(n);
  cudaMemcpyAsync(host.get(), device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  return host.release();
}
