// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// NVIDIA/cudf#18395, HL: when the pinned pool is full the result buffers come from the driver, and are freed at once.
#include <cuda_runtime.h>

struct Results {
  size_t bytes;
  int status;
};

void host_compress(Results* d_results, int blocks, cudaStream_t stream) {
  Results* results = nullptr;
  cudaHostAlloc(&results, blocks * sizeof(Results), cudaHostAllocDefault);
  for (int i = 0; i < blocks; ++i) results[i] = {static_cast<size_t>(i), 0};
  cudaMemcpyAsync(d_results, results, blocks * sizeof(Results), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  cudaFreeHost(results);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'results' is freed by cudaFreeHost while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-ALC-05) [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'results' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'results' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before it is freed
}
