// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// Only one stream has work: its own synchronisation is enough.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaStreamSynchronize(s);
#else
  cudaDeviceSynchronize();  // FIRES: device-wide-sync
#endif
  cudaStreamDestroy(s);
}
