// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Streams that are captured make a graph: races inside it are not judged here, silent.
#include <cuda_runtime.h>

__global__ void left(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void right(const float* x, float* y) { y[threadIdx.x] += x[threadIdx.x]; }

cudaGraph_t record(float* x, float* y) {
  cudaStream_t a, b;
  cudaEvent_t fork, join;
  cudaGraph_t graph = nullptr;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, a);
  cudaStreamWaitEvent(b, fork, 0);
  left<<<1, 256, 0, a>>>(x);
  right<<<1, 256, 0, b>>>(x, y);
  cudaEventRecord(join, b);
  cudaStreamWaitEvent(a, join, 0);
  cudaStreamEndCapture(a, &graph);
  return graph;
}
