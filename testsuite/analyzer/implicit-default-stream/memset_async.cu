// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The stream argument of an asynchronous call is left to its default.
#include <cuda_runtime.h>

__global__ void gemm(float* workspace, float* c) { c[threadIdx.x] += workspace[threadIdx.x]; }

void run(float* workspace, float* c, size_t bytes, cudaStream_t stream) {
#ifdef FIXED
  cudaMemsetAsync(workspace, 0, bytes, stream);
#else
  cudaMemsetAsync(workspace, 0, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemsetAsync goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
  gemm<<<1, 256, 0, stream>>>(workspace, c);
}
