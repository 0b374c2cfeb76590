// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The destination is a stack variable of a function that returns before the copy is awaited.
#include <cuda_runtime.h>

void start_query(const int* d_status, cudaStream_t stream) {
  int status = 0;
  cudaMemcpyAsync(&status, d_status, sizeof(status), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}  // FIRES: async-copy-lifetime
