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
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises a stream whose work is not running [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-23]]:51: note: the capture begins here
// CHECK-NOTES: :[[@LINE-10]]:11: note: in the call to 'Capture::Capture' here
// CHECK-NOTES: :[[@LINE-4]]:3: note: move it out of the capture; it would not be part of the graph
  return capture.finish();
#endif
}
