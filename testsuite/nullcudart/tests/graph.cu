// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph captured from two streams does its work at each launch, and not at the capture.
//
// RUN: %build_static -o %t
// RUN: %t | %filecheck %s

#include "check.h"

__global__ void touch(int* p) { *p = 1; }

int main() {
  int* word;
  int value = -1;
  cudaStream_t first, second;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaMalloc(&word, sizeof(int)));
  CHECK(cudaMemset(word, 0, sizeof(int)));
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));

  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(fork, first));
  CHECK(cudaStreamWaitEvent(second, fork));
  CHECK(cudaMemsetAsync(word, 1, sizeof(int), second));
  touch<<<1, 1, 0, second>>>(word);
  CHECK(cudaEventRecord(join, second));
  CHECK(cudaStreamWaitEvent(first, join));
  CHECK(cudaStreamEndCapture(first, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaMemcpy(&value, word, sizeof(int), cudaMemcpyDeviceToHost));
  // CHECK: 2 nodes, captured: 0
  std::printf("%zu nodes, captured: %#x\n", nodes, value);

  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, first));
  CHECK(cudaStreamSynchronize(first));
  CHECK(cudaMemcpy(&value, word, sizeof(int), cudaMemcpyDeviceToHost));
  // CHECK: launched: 0x1010101
  std::printf("launched: %#x\n", value);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}
