// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,maybe
// RUN: %check premature-free %s --levels=definite,maybe -- -DFIXED
//
// The address of a buffer is part of the graph that was captured with it.
#include <cuda_runtime.h>

__global__ void step(float* work, float* out) { out[threadIdx.x] = work[threadIdx.x]; }

class Replay {
 public:
  void capture(float* out, cudaStream_t stream) {
    float* work = nullptr;
    cudaMalloc(&work, 1024);
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    step<<<1, 32, 0, stream>>>(work, out);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
#ifdef FIXED
    work_ = work;
#else
    cudaFree(work);  // FIRES: premature-free
#endif
  }
  void launch(cudaStream_t stream) { cudaGraphLaunch(exec_, stream); }

 private:
  cudaGraphExec_t exec_ = nullptr;
  float* work_ = nullptr;
};

// Here the graph ends with its memory.
void once(float* out, cudaStream_t stream) {
  float* work = nullptr;
  cudaMalloc(&work, 1024);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  step<<<1, 32, 0, stream>>>(work, out);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec);
  cudaFree(work);
}

static void instantiate(cudaGraph_t graph, cudaGraphExec_t* exec) { cudaGraphInstantiate(exec, graph, 0); }

void by_pointer(float* out, cudaStream_t stream) {
  float* work = nullptr;
  cudaMalloc(&work, 1024);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  step<<<1, 32, 0, stream>>>(work, out);
  cudaStreamEndCapture(stream, &graph);
  instantiate(graph, &exec);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec);
  cudaFree(work);
}
