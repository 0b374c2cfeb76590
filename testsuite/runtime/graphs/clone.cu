// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clone of a graph has its nodes, and where those were made: two executable graphs write one output.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by {{.*}}cudaMemsetAsync (graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: Previous write by {{.*}}cudaMemsetAsync (graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float* output = floats();
  const cudaStream_t s = stream(), other = stream();
  begin(s);
  must(cudaMemsetAsync(output, 0, kBytes, s));  // @NODE
  const cudaGraph_t graph = end(s);
  cudaGraph_t copy;
  must(cudaGraphClone(&copy, graph));
  const cudaGraphExec_t first = instantiate(graph), second = instantiate(copy);
  must(cudaGraphLaunch(first, s));
#ifdef FIXED
  after(other, s);
#endif
  must(cudaGraphLaunch(second, other));
  must(cudaDeviceSynchronize());
}
