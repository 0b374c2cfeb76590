// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four kernels on four streams, each with a quarter of one allocation. Correct, and all a checker sees without
// footprints is four pointers into one buffer: at most `possible`, never an error.
#include "kernels.cuh"
#include "stage.h"

int main() {
  constexpr int kSlices = 4;
  constexpr int kPart = kCount / kSlices;
  float* data = device_floats();
  float* host = pinned_floats();
  for (int i = 0; i < kSlices; ++i) {
    fill<<<blocks_for(kPart), 256, 0, non_blocking_stream()>>>(data + i * kPart, kPart, 2.0f);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, data, kBytes, cudaMemcpyDeviceToHost));
  expect_all(host, kCount, 2.0f);
  return 0;
}
