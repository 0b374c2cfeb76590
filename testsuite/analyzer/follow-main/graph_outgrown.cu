// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A call replaces memory that a kept graph uses, and the object is used on: waiting does not help, and a graph that the
// class itself captures is not for callers to capture again.
#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

__global__ void square(float* work, int n) {
  if (threadIdx.x < n) work[threadIdx.x] *= work[threadIdx.x];
}

class Work {
 public:
  ~Work() { cudaFree(memory_); }
  bool reserve(size_t floats, cudaStream_t stream) {
    if (floats <= capacity_) return false;
    cudaStreamSynchronize(stream);
    cudaFree(memory_);
    cudaMalloc(&memory_, floats * sizeof(float));
    capacity_ = floats;
    return true;
  }
  float* get() const { return memory_; }

 private:
  float* memory_ = nullptr;
  size_t capacity_ = 0;
};

class Solver {
 public:
  explicit Solver(int n) : n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    work_.reserve(n, stream_);
  }
  ~Solver() {
    cudaStreamSynchronize(stream_);
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
  }
  void step() {
    if (exec_ == nullptr) capture([this] { square<<<1, 64, 0, stream_>>>(work_.get(), n_); });
    cudaGraphLaunch(exec_, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'square' of a graph on stream 'stream_' may write 'memory_' after cudaFree has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-27]]:5: note: 'memory_' is freed here
// CHECK-NOTES: :[[@LINE+8]]:15: note: in the call to 'reserve' here
// CHECK-NOTES: :[[@LINE-28]]:5: note: 'memory_' is allocated here
// CHECK-NOTES: :[[@LINE-14]]:11: note: in the call to 'reserve' here
// CHECK-NOTES: :[[@LINE-17]]:34: note: in the call to 'Solver' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE-8]]:5: note: an object of 'Solver' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
  }
  float norm(int blocks) {
    if (work_.reserve(n_ + blocks, stream_)) {
#ifdef FIXED
      if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
      exec_ = nullptr;
#endif
    }
    square<<<1, 64, 0, stream_>>>(work_.get(), n_);
    std::vector<float> sums(blocks);
    cudaMemcpyAsync(sums.data(), work_.get(), blocks * sizeof(float), cudaMemcpyDeviceToHost, stream_);
    cudaStreamSynchronize(stream_);
    return sums[0];
  }

 private:
  template <typename Body>
  void capture(Body&& body) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    body();
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
  }
  int n_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  Work work_;
};

/// Callers drop the graph when they replace the memory: there is a method for that.
class Dropped {
 public:
  explicit Dropped(int n) : n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&work_, n * sizeof(float));
  }
  ~Dropped() {
    cudaStreamSynchronize(stream_);
    invalidate();
    cudaFree(work_);
    cudaStreamDestroy(stream_);
  }
  void invalidate() {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }
  void resize(int n) {
    cudaStreamSynchronize(stream_);
    cudaFree(work_);
    cudaMalloc(&work_, n * sizeof(float));
    n_ = n;
  }
  void step() {
    if (exec_ == nullptr) {
      cudaGraph_t graph;
      cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
      square<<<1, 64, 0, stream_>>>(work_, n_);
      cudaStreamEndCapture(stream_, &graph);
      cudaGraphInstantiate(&exec_, graph, 0);
      cudaGraphDestroy(graph);
    }
    cudaGraphLaunch(exec_, stream_);
  }

 private:
  int n_;
  float* work_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

/// The constructor captures as callers can.
class CapturedByCallers {
 public:
  explicit CapturedByCallers(int n) : n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&work_, n * sizeof(float));
    capture();
  }
  ~CapturedByCallers() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(work_);
    cudaStreamDestroy(stream_);
  }
  void resize(int n) {
    cudaStreamSynchronize(stream_);
    cudaFree(work_);
    cudaMalloc(&work_, n * sizeof(float));
    n_ = n;
  }
  void step() { cudaGraphLaunch(exec_, stream_); }
  void capture() {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    square<<<1, 64, 0, stream_>>>(work_, n_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
  }

 private:
  int n_;
  float* work_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};
