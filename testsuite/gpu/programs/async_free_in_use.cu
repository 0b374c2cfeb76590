// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-SOA-03: a stream-ordered free in one stream while a kernel in another still uses the memory; the pool may hand
// it out again at once.
#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t user = non_blocking_stream();
  float* data;
  CHECK(cudaMallocAsync(&data, kBytes, owner));
  order(owner, user);
  fill<<<blocks_for(kCount), 256, 0, user>>>(data, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  order(user, owner);
#endif
  CHECK(cudaFreeAsync(data, owner));  // site: free
  CHECK(cudaDeviceSynchronize());
  return 0;
}
