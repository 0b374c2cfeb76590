// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole stream is waited for where the host needs what was copied in it before its last kernel.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync narrower: cudaStreamSynchronize ([[SYNC]]) is needed only between
// CHECK: Fix: in its place cudaEventRecord(event, stream 1) right after cudaMemcpyAsync (device to host) ([[COPY]]), and cudaEventSynchronize(event).
// CHECK: 1 narrower
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *host = pinned_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, stream));  // @COPY
#ifdef FIXED
  cudaEvent_t event = order_event();
  must(cudaEventRecord(event, stream));
#endif
  run_set(stream, b, 2);
#ifdef FIXED
  must(cudaEventSynchronize(event));
#else
  must(cudaStreamSynchronize(stream));  // @SYNC
#endif
  const volatile float* look = host;
  const bool right = look[0] == 1;
  run_set(stream, b, right || !g_cycles ? 3 : 4);
  finish(stream, b, 3);
}
