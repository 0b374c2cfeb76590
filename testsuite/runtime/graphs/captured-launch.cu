// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that is a graph already is launched inside of a capture, and becomes a child graph there. A forked stream
// reads its output without waiting for it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan:
// CHECK: by {{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: Previous {{.*}}by {{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *output = floats(), *copy = floats();
  const cudaStream_t s = stream(), side = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, output);
  const cudaGraphExec_t step = instantiate(end(s));
  begin(s);
#ifndef FIXED
  after(side, s);
#endif
  must(cudaGraphLaunch(step, s));
#ifdef FIXED
  after(side, s);
#endif
  must(cudaMemcpyAsync(copy, output, kBytes, cudaMemcpyDeviceToDevice, side));
  after(s, side);
  const cudaGraphExec_t both = instantiate(end(s));
  must(cudaGraphLaunch(both, s));
  must(cudaStreamSynchronize(s));
}
