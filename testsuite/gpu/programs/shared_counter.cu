// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams that count into one word. Atomic operations do not race with one another; racy: one of the kernels stores
// the word plainly.
#include "stage.h"

namespace {

__global__ void count(int* counter, const int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && values[i] >= 0) atomicAdd(counter, 1);
}

#ifndef FIXED
__global__ void reset(int* counter) { *counter = 0; }
#endif

}  // namespace

int main() {
  int *counter, *values;
  CHECK(cudaMalloc(&counter, sizeof(int)));
  CHECK(cudaMalloc(&values, kCount * sizeof(int)));
  CHECK(cudaMemset(counter, 0, sizeof(int)));
  CHECK(cudaMemset(values, 0, kCount * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  count<<<blocks_for(kCount), 256, 0, first>>>(counter, values, kCount);  // site: count
  CHECK(cudaGetLastError());
#ifdef FIXED
  count<<<blocks_for(kCount / 2), 256, 0, second>>>(counter, values, kCount / 2);
#else
  reset<<<1, 1, 0, second>>>(counter);  // site: reset
#endif
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  int counted = 0;
  CHECK(cudaMemcpy(&counted, counter, sizeof(int), cudaMemcpyDeviceToHost));
  expect_all(&counted, 1, kCount + kCount / 2);
  return 0;
}
