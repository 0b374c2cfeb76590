// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A library that is captured may do without the waiting for its results; a program's own wait stays what it is, also
// under a name that does not say so.
#include <cublas_v2.h>
#include <cuda_runtime.h>

class Lane {
 public:
  explicit Lane(cudaStream_t stream) : stream_(stream) {}
  void join() const { cudaStreamSynchronize(stream_); }
// CHECK-MESSAGES: :[[@LINE-1]]:23: warning: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises a stream whose work is not running [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'Lane::join' here
// CHECK-NOTES: :[[@LINE+11]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-4]]:23: note: move it out of the capture; it would not be part of the graph

 private:
  cudaStream_t stream_;
};

cudaGraph_t record(cublasHandle_t blas, int n, const float* x, float* result, cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  Lane lane(s);
  cublasSetStream(blas, s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cublasSdot(blas, n, x, 1, x, 1, result);
#ifndef FIXED
  lane.join();
#endif
  cudaStreamEndCapture(s, &graph);
  return graph;
}
