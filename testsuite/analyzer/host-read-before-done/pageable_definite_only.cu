// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite
//
// The same is silent where only definite findings are asked for.
#include <cuda_runtime.h>

int read_flag(const int* d_flag, cudaStream_t stream) {
  int flag = 0;
  cudaMemcpyAsync(&flag, d_flag, sizeof(flag), cudaMemcpyDeviceToHost, stream);
  const int seen = flag;
  cudaStreamSynchronize(stream);
  return seen;
}

int read_flag_synchronised(const int* d_flag, cudaStream_t stream) {
  int flag = 0;
  cudaMemcpyAsync(&flag, d_flag, sizeof(flag), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  return flag;
}
