// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The vector lives for one iteration, the synchronisation comes after the loop.
#include <cuda_runtime.h>

#include <vector>

void upload_rows(float* const* rows, int n, int width, cudaStream_t stream) {
  for (int i = 0; i < n; ++i) {
    std::vector<float> row(width, static_cast<float>(i));
    cudaMemcpyAsync(rows[i], row.data(), width * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'row' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'row' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-8]]:24: note: 'row' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
  cudaStreamSynchronize(stream);
}
