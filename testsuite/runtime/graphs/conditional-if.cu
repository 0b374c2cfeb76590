// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel decides whether the body of an IF node fills a buffer, which another stream copies from while the graph may be
// running. Whether they meet is decided on the device, so this is possible and no error.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: Previous write by {{.*}}(graph node 3, conditional)
// CHECK: main{{.*}}[[FILL]]
// CHECK: is in the body of a conditional node: whether it runs is decided on the device (R-GRF-27).
// CHECK: the graph launched by cudaGraphLaunch
// CHECK-NOT: {{(ERROR|POSSIBLE):}}
#include "conditional.h"

int main() {
  float *flags = floats(), *result = floats();
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle = condition(graph);
  unsigned yes = 1;
  void* arguments[] = {&handle, &yes};
  const cudaGraphNode_t front = kernel(graph, reinterpret_cast<void*>(decide), 1, 1, arguments);
  const Conditional node = conditional(graph, handle, cudaGraphCondTypeIf, 1, &front);
  fill(node.bodies[0], flags);  // @FILL
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream(), reader = stream();
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  after(reader, s);
#endif
  must(cudaMemcpyAsync(result, flags, kBytes, cudaMemcpyDeviceToDevice, reader));  // @READ
  must(cudaDeviceSynchronize());
}
