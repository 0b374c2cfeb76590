// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A loop over the addresses of two streams makes them. Neither is the default stream, though both fields begin as null.
#include <cuda_runtime.h>

#include <initializer_list>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }

class Steps {
 public:
  Steps() {
    for (cudaStream_t* each : {&main_, &side_}) cudaStreamCreateWithFlags(each, cudaStreamNonBlocking);
    cudaMalloc(&memory_, 256);
  }
  cudaGraph_t capture() {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(main_, cudaStreamCaptureModeRelaxed);
#ifdef FIXED
    fill<<<1, 64, 0, main_>>>(memory_);
#else
    fill<<<1, 64>>>(memory_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'fill' does not become part of the graph while stream 'this->main_' is captured: it goes to the default stream, which is not captured [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-6]]:5: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:5: note: move it out of the capture, or into stream 'this->main_'; it runs at once, or is refused if that is a blocking stream
#endif
    cudaStreamEndCapture(main_, &graph);
    return graph;
  }

 private:
  cudaStream_t main_ = nullptr, side_ = nullptr;
  float* memory_ = nullptr;
};

int main() {
  Steps steps;
  cudaGraph_t graph = steps.capture();
  cudaGraphDestroy(graph);
}
