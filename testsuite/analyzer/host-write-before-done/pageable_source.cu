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
  value = 2;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'value' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'value' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the write
  cudaMemcpyAsync(d_b, &value, sizeof(value), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}
