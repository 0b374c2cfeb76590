// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A workspace is freed after the graph that works on it was instantiated, and the graph is launched again.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: use-after-free
// CHECK: kernel scale{{.*}}(graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: main{{.*}}[[FREE]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *workspace = floats();
  const cudaStream_t s = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, workspace);  // @NODE
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
#ifndef FIXED
  must(cudaFree(workspace));  // @FREE
#endif
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
  must(cudaStreamSynchronize(s));
}
