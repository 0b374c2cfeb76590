// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s --levels=definite,latent
// RUN: %check host-write-before-done %s --levels=definite,latent -- -DFIXED
//
// NVIDIA/nccl#1621, HL: the address of a variable that each iteration rewrites is the source of an asynchronous copy.
#include <cuda_runtime.h>

struct Channel {
  int* d_ranks;
};

void set_ranks(Channel* channels, int n, int ranks, cudaStream_t stream) {
  int rank = 0;
  for (int c = 0; c < n; ++c) {
    rank = (rank + c) % ranks;  // FIRES: host-write-before-done
    cudaMemcpyAsync(channels[c].d_ranks, &rank, sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  cudaStreamSynchronize(stream);
}
