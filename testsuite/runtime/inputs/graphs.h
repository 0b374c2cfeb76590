// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of graphs have in common: streams, memory, kernels, captures and nodes that are added by hand.
#pragma once

#include "must.h"

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

inline cudaStream_t stream() {
  cudaStream_t s;
  must(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return s;
}
inline cudaEvent_t event() {
  cudaEvent_t e;
  must(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return e;
}
inline float* floats() {
  float* memory;
  must(cudaMalloc(&memory, kBytes));
  return memory;
}
inline float* pinned() {
  float* memory;
  must(cudaMallocHost(&memory, kBytes));
  return memory;
}

/// What follows in `later` comes after what is in `earlier` now.
inline void after(cudaStream_t later, cudaStream_t earlier) {
  const cudaEvent_t e = event();
  must(cudaEventRecord(e, earlier));
  must(cudaStreamWaitEvent(later, e, 0));
  must(cudaEventDestroy(e));
}

inline void begin(cudaStream_t s) { must(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); }
inline cudaGraph_t end(cudaStream_t s) {
  cudaGraph_t graph;
  must(cudaStreamEndCapture(s, &graph));
  return graph;
}
inline cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec;
  must(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}

__global__ void scale(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = 2 * in[i];
}
__global__ void add(const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = a[i] + b[i];
}
