// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph records an event before its last node; who waits for it may read what comes before the record only.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: Previous write by {{.*}}(graph node 3)
// CHECK: main{{.*}}[[LATE]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *early = floats(), *late = floats(), *host = pinned();
  const cudaStream_t s = stream(), other = stream();
  const cudaEvent_t half = event();
  begin(s);
  must(cudaMemsetAsync(early, 0, kBytes, s));
  must(cudaEventRecordWithFlags(half, s, cudaEventRecordExternal));
  must(cudaMemsetAsync(late, 0, kBytes, s));  // @LATE
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamWaitEvent(other, half, 0));
#ifdef FIXED
  late = early;
#endif
  must(cudaMemcpyAsync(host, late, kBytes, cudaMemcpyDeviceToHost, other));  // @READ
  must(cudaDeviceSynchronize());
}
