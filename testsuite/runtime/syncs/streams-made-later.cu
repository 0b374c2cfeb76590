// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each turn makes streams of its own. What would order them without the host cannot be written at the wait of the first
// turn, where those of the second do not exist. In the twin the streams are the same in all turns.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync {{narrower|unneeded}}
// CHECK: synchronising call sites: 2 needed
// TWIN: sync narrower: cudaDeviceSynchronize ([[SYNC]]) is needed only between
// TWIN: Fix: in its place cudaEventRecord(event, stream 1) and cudaStreamWaitEvent(stream 2, event).
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t last = nullptr;
  cudaEvent_t added = order_event();
#ifdef TWIN
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
#endif
  for (int turn = 0; turn < 2; ++turn) {
#ifndef TWIN
    cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
#endif
    must(cudaStreamWaitEvent(s1, added, 0));
    run_set(s1, a, 1);
    must(cudaDeviceSynchronize());  // @SYNC
    run_add(s2, b, a, 1);
    must(cudaEventRecord(added, s2));
    last = s2;
  }
  finish(last, b, 2);
}
