// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits until one stream has read what another one overwrites.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync narrower: cudaStreamSynchronize ([[SYNC]]) is needed only between
// CHECK: It alone orders write by kernel set{{.*}} on stream 2
// CHECK-NEXT: after read by kernel add{{.*}} on stream 1
// CHECK: Fix: in its place cudaEventRecord(event, stream 1) and cudaStreamWaitEvent(stream 2, event).
// FIXED-NOT: {{ERROR|LATENT}}
// FIXED-NOT: on stream 1 and kernel set
// FIXED: synchronising call site
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  must(cudaMemset(a, 0, kBytes));
  must(cudaDeviceSynchronize());
  run_add(s1, b, a, 1);
#ifdef FIXED
  cudaEvent_t event = order_event();
  must(cudaEventRecord(event, s1));
  must(cudaStreamWaitEvent(s2, event));
#else
  must(cudaStreamSynchronize(s1));  // @SYNC
#endif
  run_set(s2, a, 7);
  finish(s2, a, 7);
  finish(s1, b, 1);
}
