// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy in a body reads pinned memory if it runs. The host fills it for the next launch at once.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: write-after-read
// CHECK: Write by the host
// CHECK: main{{.*}}[[WRITE]]
// CHECK: Previous read by {{.*}}conditional)
// CHECK: main{{.*}}[[NODE]]
// CHECK-NOT: {{(ERROR|POSSIBLE):}}
#include "conditional.h"

int main() {
  float *input = floats(), *staging = pinned();
  const cudaStream_t s = stream();
  staging[0] = 0;
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  const Conditional node = conditional(graph, condition(graph), cudaGraphCondTypeIf, 1);
  cudaGraphNode_t copy;
  must(cudaGraphAddMemcpyNode1D(&copy, node.bodies[0], nullptr, 0, input, staging, kBytes, cudaMemcpyHostToDevice));  // @NODE
  const cudaGraphExec_t exec = instantiate(graph);
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  must(cudaStreamSynchronize(s));
#endif
  staging[0] = 1;  // @WRITE
  must(cudaStreamSynchronize(s));
}
