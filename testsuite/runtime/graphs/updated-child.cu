// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child graph of an executable graph is replaced by one that clears another buffer, which another stream still reads.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}(graph node 2)
// CHECK: Previous read by kernel scale
// CHECK: main{{.*}}[[READ]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraph_t clears(float* buffer) {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  must(cudaGraphCreate(&graph, 0));
  cudaMemsetParams zeros{};
  zeros.dst = buffer;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  must(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &zeros));
  return graph;
}

int main() {
  float *first = floats(), *second = floats(), *output = floats();
  cudaGraph_t graph;
  cudaGraphNode_t child;
  must(cudaGraphCreate(&graph, 0));
  must(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, clears(first)));
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream(), other = stream();
  scale<<<kCount / 256, 256, 0, other>>>(second, output);  // @READ
  must(cudaGraphLaunch(exec, s));
#ifndef FIXED
  must(cudaGraphExecChildGraphNodeSetParams(exec, child, clears(second)));
#endif
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
  must(cudaDeviceSynchronize());
}
