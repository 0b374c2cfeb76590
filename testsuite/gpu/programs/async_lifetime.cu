// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream-ordered memory with more than one user.
//
//   async_lifetime two-users    R-SOA-03: two streams use it, and the free waits for one of them only. One finding,
//                               about the other
//   async_lifetime after-free   R-SOA-04: a kernel that is submitted after the free, in the very stream of the free:
//                               order does not help, the memory is gone
#include <cstring>

#include "kernels.cuh"
#include "stage.h"

namespace {

void two_users() {
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  float* data;
  float* result = device_floats();
  CHECK(cudaMallocAsync(&data, kBytes, owner));
  order(owner, first);
  order(owner, second);
  fill<<<blocks_for(kCount), 256, 0, first>>>(data, kCount, 2.0f);
  CHECK(cudaGetLastError());
  order(first, second);
  scale<<<blocks_for(kCount), 256, 0, second>>>(data, result, kCount, 2.0f);  // site: second
  CHECK(cudaGetLastError());
  order(first, owner);
#ifdef FIXED
  order(second, owner);
#endif
  CHECK(cudaFreeAsync(data, owner));  // site: free-early
}

void after_free() {
  cudaStream_t stream = non_blocking_stream();
  float* data;
  CHECK(cudaMallocAsync(&data, kBytes, stream));
#ifdef FIXED
  fill<<<blocks_for(kCount), 256, 0, stream>>>(data, kCount, 2.0f);
  CHECK(cudaGetLastError());
#endif
  CHECK(cudaFreeAsync(data, stream));  // site: free
#ifndef FIXED
  fill<<<blocks_for(kCount), 256, 0, stream>>>(data, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "two-users") == 0) two_users();
  if (std::strcmp(argv[1], "after-free") == 0) after_free();
  CHECK(cudaDeviceSynchronize());
  std::printf("%s: done\n", argv[1]);
  return 0;
}
