// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At the end of the program the agent reads the clock, and that is not the program's reading: a last wait does not pass
// for one that is there to measure the time. Its twin does read the clock.
//
// RUN: %build %s -o %t
// RUN: %timed %expect 0 %streamsan run --syncs -v 1 --json %t.json -- %t > %t.out 2>&1
// RUN: %json %t.json | %filecheck %s --implicit-check-not=clock_gettime
// RUN: %build -DREADS %s -o %t.reads
// RUN: %timed %expect 0 %streamsan run --syncs -v 1 --json %t.reads.json -- %t.reads > %t.out 2>&1
// RUN: %json %t.reads.json | %filecheck %s --check-prefix=READS
// REQUIRES: nulldriver
//
// CHECK: sync.what = "cudaDeviceSynchronize"
// READS: sync.reasons{{.*}} = "clock_gettime() is called right after it."
#include <time.h>

#include "syncs.h"

int main() {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());
#ifdef READS
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
#endif
}
