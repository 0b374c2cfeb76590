// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The copied flag decides a branch.
#include <cuda_runtime.h>

__global__ void solve(float* x, int* converged) { *converged = x[0] < 1.0f; }

int iterate(float* x, int* d_converged, cudaStream_t stream) {
  int* converged = nullptr;
  cudaHostAlloc(&converged, sizeof(int), cudaHostAllocDefault);
  int iterations = 0;
  for (; iterations < 100; ++iterations) {
    solve<<<1, 256, 0, stream>>>(x, d_converged);
    cudaMemcpyAsync(converged, d_converged, sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    if (*converged) break;
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: the host may read 'converged' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'converged' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'converged' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:9: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  }
  cudaStreamSynchronize(stream);
  cudaFreeHost(converged);
  return iterations;
}
