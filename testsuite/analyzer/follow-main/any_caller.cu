// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir %s -- %mock -DFIXED | %filecheck %s
//
// What a made-up caller shows must be so with any caller. Silent: two streams of the caller's, which may be one; a wait that
// hangs on a flag; a callback, which may wait; a graph that is launched in two streams, one launch after the other.
#include <cuda_runtime.h>

#include <functional>
#include <map>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void drain(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

struct Lanes {
  Lanes() {
    for (int i = 0; i < 2; ++i) cudaStreamCreateWithFlags(&by_number[i], cudaStreamNonBlocking);
  }
  std::map<int, cudaStream_t> by_number;
};

// CHECK: (void)::own_streams(
void own_streams(float* x, float* y, int lanes) {
  Lanes own;
  std::map<int, cudaStream_t> kept = own.by_number;
  fill<<<1, 32, 0, kept[lanes % 2]>>>(x);
#ifdef FIXED
  cudaStreamSynchronize(kept[0]);
#endif
  drain<<<1, 32, 0, kept[(lanes + 1) % 2]>>>(x, y);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void two_given(float* x, float* y, cudaStream_t a, cudaStream_t b) {
  fill<<<1, 32, 0, a>>>(x);
  drain<<<1, 32, 0, b>>>(x, y);
}

// CHECK: (bool)false
// CHECK: (bool)true
void told_to_wait(float* x, float* y, bool wait) {
  Lanes own;
  fill<<<1, 32, 0, own.by_number[0]>>>(x);
  if (wait) cudaStreamSynchronize(own.by_number[0]);
  drain<<<1, 32, 0, own.by_number[1]>>>(x, y);
  cudaDeviceSynchronize();
}

void calls_back(float* x, float* y, const std::function<void(float*)>& ready) {
  Lanes own;
  fill<<<1, 32, 0, own.by_number[0]>>>(x);
  ready(x);
  drain<<<1, 32, 0, own.by_number[1]>>>(x, y);
  cudaDeviceSynchronize();
}

void one_graph(float* x) {
  Lanes own;
  cudaStream_t first = own.by_number[0];
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal);
  fill<<<1, 32, 0, first>>>(x);
  cudaStreamEndCapture(first, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, first);
  cudaGraphLaunch(exec, own.by_number[1]);
  cudaDeviceSynchronize();
}
