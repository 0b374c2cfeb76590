// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// An event that was recorded in a capture cannot be waited for on the host.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x, cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(e, s);
#ifndef FIXED
  cudaEventSynchronize(e);  // FIRES: capture-unsafe-call
#endif
  cudaStreamEndCapture(s, &graph);
  cudaEventDestroy(e);
  return graph;
}
