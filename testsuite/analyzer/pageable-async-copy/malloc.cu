// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// Memory of malloc and of new[].
#include <cuda_runtime.h>

#include <cstdlib>

void upload(int* device, int n, cudaStream_t s) {
#ifdef FIXED
  int* host = nullptr;
  cudaMallocHost(&host, n * sizeof(int));
#else
  int* host = static_cast<int*>(std::malloc(n * sizeof(int)));
#endif
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, s);  // FIRES: pageable-async-copy
  cudaStreamSynchronize(s);
#ifdef FIXED
  cudaFreeHost(host);
#else
  std::free(host);
#endif
}
