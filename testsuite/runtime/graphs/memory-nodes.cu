// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a graph is freed by a node that does not come after the kernel that writes it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: free-while-in-use
// CHECK: cudaGraphAddMemFreeNode (graph node 3)
// CHECK: main{{.*}}[[FREE]]
// CHECK: by {{.*}}(graph node 2)
// CHECK: main{{.*}}[[NODE]]
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t give, fill, take;
  cudaMemAllocNodeParams memory{};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = kBytes;
  must(cudaGraphAddMemAllocNode(&give, graph, nullptr, 0, &memory));
  cudaMemsetParams zeros{};
  zeros.dst = memory.dptr;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  must(cudaGraphAddMemsetNode(&fill, graph, &give, 1, &zeros));  // @NODE
  cudaGraphNode_t* front = &give;
#ifdef FIXED
  front = &fill;
#endif
  must(cudaGraphAddMemFreeNode(&take, graph, front, 1, memory.dptr));  // @FREE
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream();
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
