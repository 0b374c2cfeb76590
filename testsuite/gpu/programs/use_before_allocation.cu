// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-SOA-01: the pointer of cudaMallocAsync is there at once, the memory only from the allocation's place in its
// stream on.
#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t user = non_blocking_stream();
  float* data;
  CHECK(cudaMallocAsync(&data, kBytes, owner));  // site: allocation
#ifdef FIXED
  order(owner, user);
#endif
  fill<<<blocks_for(kCount), 256, 0, user>>>(data, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeAsync(data, owner));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
