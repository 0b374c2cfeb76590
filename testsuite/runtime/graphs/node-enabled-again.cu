// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node that clears a buffer is disabled while another stream reads the buffer, and enabled again too early. A disabled
// node does nothing.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}(graph node 1)
// CHECK: Previous read by kernel scale
// CHECK: main{{.*}}[[READ]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *buffer = floats(), *output = floats();
  cudaGraph_t graph;
  cudaGraphNode_t node;
  must(cudaGraphCreate(&graph, 0));
  cudaMemsetParams zeros{};
  zeros.dst = buffer;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  must(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &zeros));
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream(), other = stream();
  must(cudaGraphNodeSetEnabled(exec, node, 0));
  scale<<<kCount / 256, 256, 0, other>>>(buffer, output);  // @READ
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  after(s, other);
#endif
  must(cudaGraphNodeSetEnabled(exec, node, 1));
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
  must(cudaDeviceSynchronize());
}
