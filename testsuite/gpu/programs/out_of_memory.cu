// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that takes all device memory before its first launch, as frameworks with pools of their own do: nothing is
// left for a tool. Its results must be right all the same.
#include "kernels.cuh"
#include "stage.h"

int main() {
  float* in = device_floats();
  float* out = device_floats();
  float* host = pinned_floats(kCount, 3.0f);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, scale));  // code needs memory, too
  for (size_t bytes = size_t{1} << 32; bytes >= size_t{1} << 16; bytes /= 2) {
    void* rest;
    while (cudaMalloc(&rest, bytes) == cudaSuccess) continue;
    (void)cudaGetLastError();
  }
  CHECK(cudaMemcpy(in, host, kBytes, cudaMemcpyHostToDevice));
  for (int i = 0; i < 5; ++i) {
    scale<<<blocks_for(kCount), 256>>>(in, out, kCount, 4.0f);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaMemcpy(host, out, kBytes, cudaMemcpyDeviceToHost));
  expect_all(host, kCount, 12.0f);
  return 0;
}
