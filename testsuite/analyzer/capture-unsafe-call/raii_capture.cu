// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A capture guard: begin in the constructor, end in finish().
#include <cuda_runtime.h>

class Capture {
 public:
  explicit Capture(cudaStream_t s) : stream_(s) { cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); }
  cudaGraph_t finish() {
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream_, &graph);
    return graph;
  }

 private:
  cudaStream_t stream_;
};

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x, cudaStream_t s) {
  Capture capture(s);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaGraph_t graph = capture.finish();
  cudaStreamSynchronize(s);
  return graph;
#else
  cudaStreamSynchronize(s);  // FIRES: capture-unsafe-call
  return capture.finish();
#endif
}
