// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The synchronisation is on the long path, the short one reads without it.
#include <cuda_runtime.h>

__global__ void refine(float* x) { x[threadIdx.x] += 1.0f; }

int run(float* x, const int* d_count, bool quick, cudaStream_t stream) {
  int* count = nullptr;
  cudaMallocHost(&count, sizeof(int));
  cudaMemcpyAsync(count, d_count, sizeof(int), cudaMemcpyDeviceToHost, stream);
  if (quick) {
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    return *count;
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may read 'count' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'count' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'count' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:12: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  }
  refine<<<1, 256, 0, stream>>>(x);
  cudaStreamSynchronize(stream);
  return *count;
}
