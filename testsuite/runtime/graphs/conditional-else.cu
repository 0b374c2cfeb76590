// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both bodies of an IF node, and all of a SWITCH node, fill the same buffer. One of them runs at most, so they are not
// compared with each other; but each with what is beside the node.
//
// RUN: %build -DRACY %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: write-after-write
// CHECK: main{{.*}}[[BESIDE]]
// CHECK: (graph node {{[2-7]}}, conditional)
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR:
#include "conditional.h"

int main() {
  float* buffer = floats();
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  const Conditional either = conditional(graph, condition(graph), cudaGraphCondTypeIf, 2);
  for (int i = 0; i < 2; ++i) fill(either.bodies[i], buffer);
  const Conditional any = conditional(graph, condition(graph), cudaGraphCondTypeSwitch, 3, &either.node);
  for (int i = 0; i < 3; ++i) fill(any.bodies[i], buffer);
#ifdef RACY
  fill(graph, buffer);  // @BESIDE
#else
  fill(graph, buffer, &any.node);
#endif
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream();
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
