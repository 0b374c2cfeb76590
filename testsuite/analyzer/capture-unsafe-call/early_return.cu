// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
//
// Nothing is captured any more after the end; the error path ends the capture first: silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x, cudaStream_t s, bool refuse) {
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
  if (refuse) {
    cudaStreamEndCapture(s, &graph);
    cudaStreamSynchronize(s);
    return nullptr;
  }
  cudaStreamEndCapture(s, &graph);
  cudaStreamSynchronize(s);
  cudaDeviceSynchronize();
  return graph;
}
