// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host reads managed memory while the kernel that writes it may still run.
#include <cuda_runtime.h>

__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }

float run() {
  float* x = nullptr;
  cudaMallocManaged(&x, 256 * sizeof(float));
  for (int i = 0; i < 256; ++i) x[i] = i;
  square<<<1, 256>>>(x);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  const float last = x[255];  // FIRES: host-read-before-done
  cudaDeviceSynchronize();
  cudaFree(x);
  return last;
}
