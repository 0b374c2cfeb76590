// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The workspace of a body is freed in another stream, while a launch of the graph may still run the body.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: free-while-in-use
// CHECK: Free by cudaFreeAsync
// CHECK: main{{.*}}[[FREE]]
// CHECK: Previous write by kernel scale{{.*}}conditional)
// CHECK: main{{.*}}[[NODE]]
// CHECK: is in the body of a conditional node
// CHECK-NOT: {{(ERROR|POSSIBLE):}}
#include "conditional.h"

int main() {
  float *input = floats(), *workspace;
  const cudaStream_t s = stream(), cleaner = stream();
  must(cudaMallocAsync(&workspace, kBytes, s));
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  const Conditional node = conditional(graph, condition(graph), cudaGraphCondTypeIf, 1);
  void* arguments[] = {&input, &workspace};
  kernel(node.bodies[0], reinterpret_cast<void*>(scale), kCount / 256, 256, arguments);  // @NODE
  const cudaGraphExec_t exec = instantiate(graph);
  after(cleaner, s);
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  must(cudaStreamSynchronize(s));
#endif
  must(cudaFreeAsync(workspace, cleaner));  // @FREE
  must(cudaDeviceSynchronize());
}
