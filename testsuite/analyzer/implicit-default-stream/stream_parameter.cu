// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The function takes a stream and launches without it.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  cudaMemsetAsync(x, 0, 1024, stream);
#ifdef FIXED
  work<<<1, 256, 0, stream>>>(x);
#else
  work<<<1, 256>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}
