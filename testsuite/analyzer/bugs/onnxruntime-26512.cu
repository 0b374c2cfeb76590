// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// microsoft/onnxruntime#26512, IM: a count is copied to pageable memory and used, as such copies are said to wait.
#include <cuda_runtime.h>

__global__ void prefix(const bool* x, int* sums) { sums[threadIdx.x] = x[threadIdx.x]; }
__global__ void positions(const int* sums, long* out, int count) { out[threadIdx.x] = sums[threadIdx.x] + count; }

long* nonzero(const bool* x, int* d_sums, int n, long* (*allocate)(int), cudaStream_t stream) {
  prefix<<<1, 256, 0, stream>>>(x, d_sums);
  int count = 0;
  cudaMemcpyAsync(&count, d_sums + n - 1, sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  long* out = allocate(count);
// CHECK-MESSAGES: :[[@LINE-1]]:24: warning: the host may read 'count' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'count' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:24: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  positions<<<1, 256, 0, stream>>>(d_sums, out, n);
  return out;
}
