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
  cudaMemcpyAsync(&flag, d_flag, sizeof(int), cudaMemcpyDeviceToHost, s);  // FIRES: pageable-async-copy
  cudaStreamSynchronize(s);
  return flag;
#endif
}
