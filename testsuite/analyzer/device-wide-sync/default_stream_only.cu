// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
//
// A simple program that knows only the default stream waits for the device as everybody does: silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  work<<<1, 256>>>(x);
  cudaDeviceSynchronize();
}
