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
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'status' goes out of scope while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'status' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
