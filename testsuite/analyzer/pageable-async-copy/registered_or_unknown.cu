// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
//
// Registered memory is pinned; memory of a parameter is not known: silent.
#include <cuda_runtime.h>

#include <vector>

void registered(float* device, cudaStream_t s) {
  std::vector<float> values(1024);
  cudaHostRegister(values.data(), 1024 * sizeof(float), cudaHostRegisterDefault);
  cudaMemcpyAsync(device, values.data(), 1024 * sizeof(float), cudaMemcpyHostToDevice, s);
  cudaStreamSynchronize(s);
  cudaHostUnregister(values.data());
}

void unknown(float* device, const float* host, size_t bytes, cudaStream_t s) {
  cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, s);
}

void device_only(float* to, const float* from, size_t bytes, cudaStream_t s) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s);
}
