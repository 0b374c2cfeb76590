// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a WHILE node improves a solution again and again, and another branch of the graph fills it: the edge between
// the two is missing. One round of the body comes after another, so what a round reads of the one before is in order.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan:
// CHECK: (graph node {{[34]}}, conditional)
// CHECK: no path of edges leads from
// CHECK-SAME: conditional node
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR:
#include "conditional.h"

int main() {
  float *solution = floats(), *next = floats();
  unsigned* left;
  must(cudaMalloc(&left, sizeof *left));
  const unsigned rounds = 3;
  must(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
  must(cudaDeviceSynchronize());
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle = condition(graph);
  const cudaGraphNode_t start = fill(graph, solution);
  const cudaGraphNode_t* front = nullptr;
#ifdef FIXED
  front = &start;
#endif
  const Conditional node = conditional(graph, handle, cudaGraphCondTypeWhile, 1, front);
  void* first[] = {&solution, &next};
  void* second[] = {&next, &solution};
  void* counter[] = {&handle, &left};
  cudaGraphNode_t last = kernel(node.bodies[0], reinterpret_cast<void*>(scale), kCount / 256, 256, first);
  last = kernel(node.bodies[0], reinterpret_cast<void*>(scale), kCount / 256, 256, second, &last);
  kernel(node.bodies[0], reinterpret_cast<void*>(count_down), 1, 1, counter, &last);
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream();
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
