// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// A flag on the stack.
#include <cuda_runtime.h>

int flag(const int* d_flag, cudaStream_t s) {
#ifdef FIXED
  int* flag = nullptr;
  cudaMallocHost(&flag, sizeof(int));
  cudaMemcpyAsync(flag, d_flag, sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  const int result = *flag;
  cudaFreeHost(flag);
  return result;
#else
  int flag = 0;
  cudaMemcpyAsync(&flag, d_flag, sizeof(int), cudaMemcpyDeviceToHost, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 's' of pageable memory 'flag' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-2]]:3: note: use pinned memory, from cudaMallocHost
  cudaStreamSynchronize(s);
  return flag;
#endif
}
