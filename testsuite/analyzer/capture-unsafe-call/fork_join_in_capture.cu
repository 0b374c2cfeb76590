// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
//
// Fork and join by events, stream-ordered memory, and calls before and after the capture: silent.
#include <cuda_runtime.h>

__global__ void left(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void right(float* y) { y[threadIdx.x] += 1.0f; }

cudaGraphExec_t record(float* x, float* y, cudaStream_t s) {
  cudaStream_t side;
  cudaEvent_t fork, join;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaStreamSynchronize(s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, s);
  cudaStreamWaitEvent(side, fork, 0);
  left<<<1, 256, 0, s>>>(x);
  right<<<1, 256, 0, side>>>(y);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(s, join, 0);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, s);
  cudaStreamSynchronize(s);
  return executable;
}
