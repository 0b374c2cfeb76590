// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
// RUN: %check premature-free %s -- -DFIXED -DNOT_KEPT
//
// The graph of one method works on memory that the method frees; another method launches it.
#include <cuda_runtime.h>

#if defined(FIXED) && !defined(NOT_KEPT)
#define REPAIRED
#endif

__global__ void sum(const float* x, float* part) { part[blockIdx.x] = x[blockIdx.x]; }

class Replay {
 public:
  explicit Replay(const float* input) : input_(input) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  Replay(const Replay&) = delete;
  void record() {
    float* part = nullptr;
    cudaMalloc(&part, 1024);
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    sum<<<256, 1, 0, stream_>>>(input_, part);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
#ifdef REPAIRED
    part_ = part;
#else
    cudaFree(part);
#endif
#ifdef NOT_KEPT
    cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
#endif
  }
  void run() {
    cudaGraphLaunch(exec_, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaGraphLaunch on stream 'this->stream_' may use 'part' after cudaFree has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-10]]:5: note: 'part' is freed here
// CHECK-NOTES: :[[@LINE-21]]:5: note: 'part' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE-20]]:5: note: kernel 'sum', which uses it, becomes part of the graph that is launched
  }

 private:
  const float* input_;
  float* part_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};
