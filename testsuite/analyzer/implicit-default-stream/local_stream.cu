// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The stream is created in the same function.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  work<<<1, 256, 0, stream>>>(x);
#ifdef FIXED
  work<<<1, 128, 16, stream>>>(x);
#else
  work<<<1, 128, 16>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'stream' is created here
#endif
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
