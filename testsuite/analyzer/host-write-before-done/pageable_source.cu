// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s --levels=definite,latent
// RUN: %check host-write-before-done %s --levels=definite,latent -- -DFIXED
//
// A pageable source is staged by today's driver before the call returns: latent, not definite.
#include <cuda_runtime.h>

void set_both(int* d_a, int* d_b, cudaStream_t stream) {
  int value = 1;
  cudaMemcpyAsync(d_a, &value, sizeof(value), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  value = 2;  // FIRES: host-write-before-done
  cudaMemcpyAsync(d_b, &value, sizeof(value), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}
