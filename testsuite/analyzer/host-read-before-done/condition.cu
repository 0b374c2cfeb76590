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
    if (*converged) break;  // FIRES: host-read-before-done
  }
  cudaStreamSynchronize(stream);
  cudaFreeHost(converged);
  return iterations;
}
