// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The static run-time reads a clock where it waits for another thread with a limit, which happens now and then. That is
// no measurement of the program's. Here a function stands for it that has a name like its own; the twin has another name.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: is called right after it
// CHECK: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
// TWIN-NOT: sync unneeded
// TWIN: sync timing: cudaStreamSynchronize ([[SYNC]]) is needed for timing only.
// TWIN: Why: gettimeofday() is called right after it.
#include <sys/time.h>

#include "syncs.h"

#ifdef TWIN
#define waits_with_a_limit measures
#else
#define waits_with_a_limit libcudart_static_0123456789abcdef
#endif

extern "C" __attribute__((noinline)) void waits_with_a_limit() {
  timeval now;
  gettimeofday(&now, nullptr);
  asm volatile("" : : "r"(&now) : "memory");  // no jump out of here
}

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
  waits_with_a_limit();
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
