// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// reset() frees the array under the copy.
#include <cuda_runtime.h>

#include <memory>

void download(const float* device, int n, cudaStream_t stream) {
  auto host = std::make_unique<float[]>(n);
  cudaMemcpyAsync(host.get(), device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  host.reset();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'host' ends while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:15: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
  cudaStreamSynchronize(stream);
}
