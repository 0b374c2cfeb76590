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
  void join() const { cudaStreamSynchronize(stream_); }  // FIRES: capture-unsafe-call

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
