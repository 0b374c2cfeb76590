// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library's step with a workspace of its own is captured once, and becomes two child graphs of one graph, for two
// inputs. Without an edge between them both use the workspace at the same time.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan:
// CHECK: by {{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: library_step{{.*}}[[CLEAR]]
// CHECK: Previous {{.*}}by {{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: library_step{{.*}}[[CLEAR]]
// CHECK: no path of edges leads from
// CHECK: cause=no-path-in-graph streams=graph,graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraph_t library_step(float* workspace) {
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaMemsetParams zeros{};
  zeros.dst = workspace;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  cudaGraphNode_t node;
  must(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &zeros));  // @CLEAR
  return graph;
}

int main() {
  const cudaGraph_t step = library_step(floats());
  cudaGraph_t graph;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t first, second;
  must(cudaGraphAddChildGraphNode(&first, graph, nullptr, 0, step));
  must(cudaGraphAddChildGraphNode(&second, graph, nullptr, 0, step));
#ifdef FIXED
  must(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
#endif
  const cudaGraphExec_t exec = instantiate(graph);
  const cudaStream_t s = stream();
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
