// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the wait and the clock there is a call of CUDA's that submits no work: the time is that of the wait still. The
// twin submits work first, so that the clock says nothing of the wait.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync timing: cudaStreamSynchronize ([[SYNC]]) is needed for timing only.
// CHECK: Why: clock_gettime() is called right after it.
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include <ctime>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  cudaEvent_t event = order_event();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
#ifdef TWIN
  run_set(stream, a, 1);
#endif
  must(cudaEventRecord(event, stream));
  {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
