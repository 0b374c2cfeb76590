// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct code in which classic allocations, streams and events get the addresses and handles of their predecessors
// again and again. A new life at an old address is a new thing.
#include "kernels.cuh"
#include "stage.h"

int main() {
  for (int round = 0; round < 100; ++round) {
    cudaStream_t first = non_blocking_stream();
    cudaStream_t second = non_blocking_stream();
    float* data = device_floats();
    fill<<<blocks_for(kCount), 256, 0, first>>>(data, kCount, 1.0f);
    CHECK(cudaGetLastError());
    order(first, second);
    add_one<<<blocks_for(kCount), 256, 0, second>>>(data, kCount);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(data));
  }
  return 0;
}
