// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// A literal 0 where a stream is at hand.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, const float* pinned, size_t bytes, cudaStream_t stream) {
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  work<<<1, 256, 0, stream>>>(x);
#else
  work<<<1, 256, 0, 0>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}
