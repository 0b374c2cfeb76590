// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Which graph is launched: the one that was captured here, or one that was built by hand, or loaded by other code.
#include <cuda_runtime.h>

__global__ void smooth(float* field) { field[threadIdx.x] *= 0.5f; }

cudaGraphExec_t load_solver(const char* name);
cudaError_t build_solver(cudaGraphExec_t* exec);

struct Streams {
  cudaStream_t solve, feed;
  Streams() {
    cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&feed, cudaStreamNonBlocking);
  }
};

cudaGraph_t capture(float* field, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  smooth<<<1, 256, 0, stream>>>(field);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

// Through a helper and two variables.
void captured(float* field, const float* pinned) {
  Streams on;
  cudaGraph_t graph = capture(field, on.solve);
  cudaGraphExec_t made, exec;
  cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  exec = made;
#ifdef FIXED
  exec = load_solver("coarse");
#endif
  cudaMemcpyAsync(field, pinned, 1024, cudaMemcpyHostToDevice, on.feed);
  cudaGraphLaunch(exec, on.solve);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void built_by_hand(float* field, float* sum, const float* pinned) {
  Streams on;
  cudaGraph_t graph = capture(field, on.solve), built;
  cudaGraphExec_t smoothing, clearing;
  cudaGraphInstantiate(&smoothing, graph, 0);
  cudaGraphCreate(&built, 0);
  cudaGraphNode_t node;
  cudaMemsetParams fill = {};
  fill.dst = sum;
  cudaGraphAddMemsetNode(&node, built, nullptr, 0, &fill);
  cudaGraphInstantiate(&clearing, built, 0);
  cudaGraphLaunch(smoothing, on.solve);
  cudaStreamSynchronize(on.solve);
  cudaMemcpyAsync(field, pinned, 1024, cudaMemcpyHostToDevice, on.feed);
  cudaGraphLaunch(clearing, on.solve);
  cudaDeviceSynchronize();
}

void built_elsewhere(float* field, const float* pinned) {
  Streams on;
  cudaGraph_t graph = capture(field, on.solve);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, on.solve);
  cudaStreamSynchronize(on.solve);
  cudaGraphExecDestroy(exec);
  build_solver(&exec);
  cudaMemcpyAsync(field, pinned, 1024, cudaMemcpyHostToDevice, on.feed);
  cudaGraphLaunch(exec, on.solve);
  cudaDeviceSynchronize();
}
