// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A capture that ends while a stream that it spread to has work which does not come back to it is invalid.
#include <cuda_runtime.h>

__global__ void mask(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void score(float* p) { p[threadIdx.x] = 2.0f; }

void record(float* a, float* b, cudaGraph_t* graph) {
  cudaStream_t main, side;
  cudaEvent_t fork, join;
  cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed);
  cudaEventRecord(fork, main);
  cudaStreamWaitEvent(side, fork, 0);
  mask<<<1, 32, 0, side>>>(a);
  score<<<1, 32, 0, main>>>(b);
#ifdef FIXED
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(main, join, 0);
#endif
  cudaStreamEndCapture(main, graph);  // FIRES: capture-unsafe-call
}
