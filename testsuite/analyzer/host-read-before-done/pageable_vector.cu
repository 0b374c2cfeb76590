// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// Pageable memory: today's driver waits inside the call, no document promises it: latent.
#include <cuda_runtime.h>

#include <numeric>
#include <vector>

float mean(const float* d_values, int n, cudaStream_t stream) {
  std::vector<float> values(n);
  cudaMemcpyAsync(values.data(), d_values, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float sum = std::accumulate(values.begin(), values.end(), 0.0f);
// CHECK-MESSAGES: :[[@LINE-1]]:21: warning: the host may read 'values' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'values' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:22: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:21: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  return sum / n;
}
