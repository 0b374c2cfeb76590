// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph with a conditional node is gone, and the handles of its nodes and bodies are handed out again: to a graph whose
// body fills another buffer. Each launch has the bodies of its own graph.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: Previous write by {{.*}}conditional)
// CHECK-NOT: {{(ERROR|POSSIBLE):}}
#include "conditional.h"

int main() {
  float* buffers[2] = {floats(), floats()};
  const cudaStream_t s = stream(), other = stream();
  for (float* buffer : buffers) {
    cudaGraph_t graph;
    must(cudaGraphCreate(&graph, 0));
    const Conditional outer = conditional(graph, condition(graph), cudaGraphCondTypeIf, 1);
    const Conditional inner = conditional(outer.bodies[0], condition(outer.bodies[0]), cudaGraphCondTypeIf, 1);
    fill(inner.bodies[0], buffer);
    const cudaGraphExec_t exec = instantiate(graph);
    must(cudaGraphLaunch(exec, s));
    if (buffer == buffers[0]) must(cudaStreamSynchronize(s));
    must(cudaGraphExecDestroy(exec));
    must(cudaGraphDestroy(graph));
  }
  must(cudaMemsetAsync(buffers[0], 1, kBytes, other));
#ifdef FIXED
  after(other, s);
#endif
  must(cudaMemsetAsync(buffers[1], 1, kBytes, other));  // @SECOND
  must(cudaDeviceSynchronize());
}
