// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy node reads pinned memory when the graph runs. The host fills it for the next launch at once.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by the host
// CHECK: main{{.*}}[[WRITE]]
// CHECK: Previous read by {{.*}}(graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *staging = pinned();
  const cudaStream_t s = stream();
  staging[0] = 0;
  begin(s);
  must(cudaMemcpyAsync(input, staging, kBytes, cudaMemcpyHostToDevice, s));  // @NODE
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
#ifdef FIXED
  must(cudaStreamSynchronize(s));
#endif
  staging[0] = 1;  // @WRITE
  must(cudaStreamSynchronize(s));
}
