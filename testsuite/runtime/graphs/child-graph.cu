// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child graph fills a buffer, and a kernel of the parent reads it: without the edge behind the child.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan:
// CHECK: by {{.*}}(graph node
// CHECK: by {{.*}}(graph node
// CHECK: no path of edges leads from
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *middle = floats(), *output = floats();
  cudaGraph_t child, graph;
  cudaGraphNode_t inner, outer, reader;
  must(cudaGraphCreate(&child, 0));
  cudaMemsetParams zeros{};
  zeros.dst = middle;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  must(cudaGraphAddMemsetNode(&inner, child, nullptr, 0, &zeros));
  must(cudaGraphCreate(&graph, 0));
  must(cudaGraphAddChildGraphNode(&outer, graph, nullptr, 0, child));
  void* arguments[] = {&input, &middle, &output};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = dim3(kCount / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  must(cudaGraphAddKernelNode(&reader, graph, nullptr, 0, &kernel));
#ifdef FIXED
  must(cudaGraphAddDependencies(graph, &outer, &reader, nullptr, 1));
#endif
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream();
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
