// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory is memory: two kernels on two streams race on it as on any other.
#include "kernels.cuh"
#include "stage.h"

int main() {
  float *data, *result;
  CHECK(cudaMallocManaged(&data, kBytes));
  CHECK(cudaMallocManaged(&result, kBytes));
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  fill<<<blocks_for(kCount), 256, 0, first>>>(data, kCount, 2.0f);  // site: first
  CHECK(cudaGetLastError());
#ifdef FIXED
  order(first, second);
#endif
  scale<<<blocks_for(kCount), 256, 0, second>>>(data, result, kCount, 2.0f);  // site: second
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  expect_all(result, kCount, 4.0f);
  return 0;
}
