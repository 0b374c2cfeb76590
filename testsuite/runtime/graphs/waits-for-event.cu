// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph waits for an event before its last node only: the node beside the wait comes after nothing.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by {{.*}}(graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: Previous write by cudaMemsetAsync
// CHECK: main{{.*}}[[UPLOAD]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *buffer = floats(), *behind = floats();
  const cudaStream_t s = stream(), upload = stream();
  const cudaEvent_t uploaded = event();
  begin(s);
#ifdef FIXED
  must(cudaStreamWaitEvent(s, uploaded, cudaEventWaitExternal));
  must(cudaMemsetAsync(buffer, 1, kBytes, s));
#else
  must(cudaMemsetAsync(buffer, 1, kBytes, s));  // @NODE
  must(cudaStreamWaitEvent(s, uploaded, cudaEventWaitExternal));
#endif
  must(cudaMemsetAsync(behind, 1, kBytes, s));
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaMemsetAsync(buffer, 0, kBytes, upload));  // @UPLOAD
  must(cudaMemsetAsync(behind, 0, kBytes, upload));
  must(cudaEventRecord(uploaded, upload));
  must(cudaGraphLaunch(exec, s));
  must(cudaDeviceSynchronize());
}
