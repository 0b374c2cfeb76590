// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph does is not known, and so nothing is said against waiting for it.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: the host waits for a graph (cudaGraphLaunch ([[GRAPH]])), and what a graph does is not known.
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  run_set(stream, a, 1);
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  must(cudaGraphLaunch(exec, stream));  // @GRAPH
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
