// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A thread that has made its capture mode a relaxed one may allocate until it puts the old mode back.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

cudaGraph_t record(size_t bytes, cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  float *x = nullptr, *y = nullptr, *z = nullptr;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  cudaMalloc(&x, bytes);
  cudaThreadExchangeStreamCaptureMode(&mode);
  {
    Relaxed relaxed;
    cudaMalloc(&y, bytes);
  }
#ifndef FIXED
  cudaMalloc(&z, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMalloc is not allowed while stream 's' is captured: it may synchronise the device [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-12]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
