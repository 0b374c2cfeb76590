// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// hipMalloc in a capture.
#include <hip/hip_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

hipGraph_t record(float* x, hipStream_t s) {
  hipGraph_t graph = nullptr;
  (void)hipStreamBeginCapture(s, hipStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
#ifndef FIXED
  (void)hipStreamSynchronize(s);  // FIRES: capture-unsafe-call
#endif
  (void)hipStreamEndCapture(s, &graph);
  return graph;
}
