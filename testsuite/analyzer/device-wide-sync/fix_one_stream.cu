// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s --fix
//
// --fix narrows the synchronisation to the one stream that has work.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  work<<<4, 256, 0, stream>>>(x);
  cudaDeviceSynchronize();  // FIRES: device-wide-sync
}
// CHECK-FIXES: cudaStreamSynchronize(stream);
