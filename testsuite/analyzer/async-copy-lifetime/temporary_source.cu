// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The source is a temporary: it is gone at the end of the statement.
#include <cuda_runtime.h>

#include <vector>

std::vector<float> make_table(int n);

void upload(float* device, int n, cudaStream_t stream) {
#ifdef FIXED
  const std::vector<float> table = make_table(n);
  cudaMemcpyAsync(device, table.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpyAsync(device, make_table(n).data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:27: warning: a temporary ends while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-2]]:3: note: a temporary is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:27: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
#endif
  cudaStreamSynchronize(stream);
}
