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
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 's' of pageable memory 'host' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-5]]:33: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-3]]:3: note: use pinned memory, from cudaMallocHost
  cudaStreamSynchronize(s);
#ifdef FIXED
  cudaFreeHost(host);
#else
  std::free(host);
#endif
}
