// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A container whose allocator is not known may have its memory from the host's heap, which a capture does not mind.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory_resource>
#include <vector>

__global__ void step(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t build(float* x) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  std::byte room[1024];
  std::pmr::monotonic_buffer_resource pool(room, sizeof room);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  std::pmr::vector<float*> parts(&pool);
  for (int i = 0; i < 4; ++i) parts.push_back(x + i * 32);
  for (float* part : parts) step<<<1, 32, 0, s>>>(part);
#ifndef FIXED
  float* scratch;
  cudaMalloc(&scratch, 4096);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMalloc is not allowed while stream 's' is captured: it may synchronise the device [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-8]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  cudaStreamEndCapture(s, &graph);
  return graph;
}
