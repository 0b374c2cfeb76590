// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// An event recorded without its stream.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaEvent_t done, cudaStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
#ifdef FIXED
  cudaEventRecord(done, stream);
#else
  cudaEventRecord(done);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventRecord goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}
