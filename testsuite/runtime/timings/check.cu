// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace that has times says the same later. One that was recorded without says how long the host was blocked, and
// nothing of the GPU; and without the option nothing is said at all.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.timed %t.plain
// RUN: %timed %expect 0 %streamsan run --keep-trace --trace-dir=%t.timed -- %t 2>&1 | grep -o 'the host was blocked.*' > %t.run
// RUN: %streamsan check --timings %t.timed/*/*.trace 2>&1 | grep -o 'the host was blocked.*' > %t.check
// RUN: diff %t.run %t.check
// RUN: %filecheck %s --check-prefix=TIMED < %t.check
// RUN: %expect 0 %streamsan run --keep-trace --trace-dir=%t.plain -- %t > %t.out 2>&1
// RUN: %expect 0 %streamsan check --timings %t.plain/*/*.trace 2>&1 | %filecheck %s --check-prefix=PLAIN
// RUN: %expect 0 %streamsan check --timings --syncs --json %t.json %t.plain/*/*.trace > %t.out 2>&1
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: %expect 0 %streamsan check %t.timed/*/*.trace > %t.silent 2>&1
// RUN: %expect 1 test -s %t.silent
// REQUIRES: nulldriver
//
// TIMED: in 1 blocking call; because of it the GPU idled
// PLAIN: the host was blocked for {{[0-9.]+}} ms of {{[0-9.]+}} ms in 1 blocking call{{$}}
// JSON: sync.blocked_ms = {{[0-9]}}
// JSON: sync.gpu_idle_ms = null
// JSON: sync.overlap_ms = null
#include "syncs.h"

int main() {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());
}
