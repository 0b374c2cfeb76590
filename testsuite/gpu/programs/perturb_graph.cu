// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph fills a buffer, a kernel of another stream reads it without waiting for the launch of the graph. The capture
// itself is left alone: a delay in it would stay in the graph.
#include "confirm.h"

int main() {
  cudaStream_t launching = non_blocking_stream();
  cudaStream_t reading = non_blocking_stream();
  float* result = pinned_floats();
  float* data = device_floats();
  float* out = device_floats();
  CHECK(cudaMemset(data, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(launching, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 20; ++i) fill<<<blocks_for(kCount), 256, 0, launching>>>(data, kCount, 1.0f);
  CHECK(cudaStreamEndCapture(launching, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 20) {
    std::printf("the graph has %zu nodes\n", nodes);
    return 4;
  }
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, launching));
#ifdef FIXED
  order(launching, reading);
#endif
  return tell_scaled(data, out, result, 4.0f, 4.0f, reading);
}
