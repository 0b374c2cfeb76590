// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph that is made node by node: the second kernel reads what the first one writes, and the edge between them was
// forgotten.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel add{{.*}}(graph node 3)
// CHECK: main{{.*}}[[ADD]]
// CHECK: Previous write by kernel scale{{.*}}(graph node 2)
// CHECK: main{{.*}}[[SCALE]]
// CHECK: no path of edges leads from kernel scale
// CHECK-NEXT: the graph created by cudaGraphInstantiate
// CHECK: main{{.*}}[[CREATED]]
// CHECK: Fix: add an edge from kernel scale{{.*}} to kernel add{{.*}}cudaGraphAddDependencies
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *in = floats(), *scaled = floats(), *out = floats();
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t clear, first, second;
  cudaMemsetParams zeros{};
  zeros.dst = in;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  must(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zeros));

  void* of_scale[] = {&in, &scaled};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(kCount / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = of_scale;
  must(cudaGraphAddKernelNode(&first, graph, &clear, 1, &kernel));  // @SCALE

  void* of_add[] = {&in, &scaled, &out};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.kernelParams = of_add;
  cudaGraphNode_t* front = &clear;
#ifdef FIXED
  front = &first;
#endif
  must(cudaGraphAddKernelNode(&second, graph, front, 1, &kernel));  // @ADD

  const cudaGraphExec_t exec = instantiate(graph);  // @CREATED
  const cudaStream_t s = stream();
  for (int i = 0; i < 3; ++i) must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
