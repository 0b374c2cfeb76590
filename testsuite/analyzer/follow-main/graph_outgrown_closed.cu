// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A class replaces memory that its graph uses. That it can be closed or assigned, and that another graph can be made anew,
// is no way for callers to make this graph anew.
#include <cuda_runtime.h>

#include <utility>

__global__ void square(float* work, int n) {
  if (threadIdx.x < n) work[threadIdx.x] *= work[threadIdx.x];
}

class Solver {
 public:
  explicit Solver(int n) : n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&work_, n * sizeof(float));
    cudaMalloc(&rest_, n * sizeof(float));
  }
  ~Solver() { close(); }
  Solver& operator=(Solver&& other) noexcept {
    drop(exec_);
    std::swap(n_, other.n_);
    std::swap(work_, other.work_);
    return *this;
  }
  void smooth() {
    drop(smoothing_);
    capture(rest_, smoothing_);
    cudaGraphLaunch(smoothing_, stream_);
  }
  void step() {
    if (exec_ == nullptr) capture(work_, exec_);
    cudaGraphLaunch(exec_, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaGraphLaunch on stream 'this->stream_' may use 'this->work_' after cudaFree has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+10]]:5: note: 'this->work_' is freed here
// CHECK-NOTES: :[[@LINE-3]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE+28]]:5: note: kernel 'square', which uses it, becomes part of the graph that is launched, and keeps its address
// CHECK-NOTES: :[[@LINE-6]]:27: note: in the call to 'Solver::capture' here
  }
  void resize(int n) {
    cudaStreamSynchronize(stream_);
#ifdef FIXED
    drop(exec_);
#endif
    cudaFree(work_);
    cudaMalloc(&work_, n * sizeof(float));
    n_ = n;
  }
  void close() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    drop(exec_);
    drop(smoothing_);
    cudaFree(work_);
    work_ = nullptr;
    cudaFree(rest_);
    cudaStreamDestroy(stream_);
    stream_ = nullptr;
  }

 private:
  void capture(float* memory, cudaGraphExec_t& exec) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    square<<<1, 64, 0, stream_>>>(memory, n_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
  }
  static void drop(cudaGraphExec_t& exec) {
    if (exec != nullptr) cudaGraphExecDestroy(exec);
    exec = nullptr;
  }
  int n_;
  float *work_ = nullptr, *rest_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr, smoothing_ = nullptr;
};
