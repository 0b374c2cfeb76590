// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch into a stream that is captured does not run, so there is nothing to measure. Launched eagerly it is measured.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %silent %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: %build -DEAGER %s -o %t.eager
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t.eager 2>&1 | %filecheck %s --check-prefix=ONE
//
// SCRIPT: fill write #0 4
//
// NONE: footprints of kernels measured: 0 launches in
// ONE: footprints of kernels measured: 1 launch in
#include "must.h"

__global__ void fill(float* buffer) { *buffer = 1; }

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifndef EAGER
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
#endif
  fill<<<1, 1, 0, stream>>>(buffer);
  must(cudaGetLastError());
#ifndef EAGER
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  must(cudaGraphLaunch(exec, stream));
#endif
  must(cudaStreamSynchronize(stream));
}
