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
    rank = (rank + c) % ranks;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'rank' while cudaMemcpyAsync (host to device) on stream 'stream', in an earlier iteration, still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+2]]:5: note: 'rank' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before the write
    cudaMemcpyAsync(channels[c].d_ranks, &rank, sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  cudaStreamSynchronize(stream);
}
