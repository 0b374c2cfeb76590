// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only the recorder with the option syncs writes is not in a trace that was recorded without it, and the report says so.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.*.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.without.trace %t
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.with.trace:syncs=1 %t
// RUN: env STREAMSAN_OPTIONS=kernel_code=1 %expect 0 %streamsan check --syncs %t.without.trace 2>&1 | %filecheck %s --check-prefix=WITHOUT
// RUN: env STREAMSAN_OPTIONS=kernel_code=1 %expect 0 %streamsan check --syncs --timings %t.with.trace 2>&1 | %filecheck %s --check-prefix=WITH
// RUN: %expect 0 %streamsan check -v 1 %t.without.trace 2>&1 | %filecheck %s --check-prefix=UNASKED
//
// A trace of a recorder that did not tell (the word in the header is 0).
// RUN: %python -c "import sys; d = bytearray(open(sys.argv[1], 'rb').read()); d[3432:3436] = bytes(4); open(sys.argv[2], 'wb').write(d)" %t.without.trace %t.old.trace
// RUN: env STREAMSAN_OPTIONS=kernel_code=1 %expect 0 %streamsan check --syncs %t.old.trace 2>&1 | %filecheck %s --check-prefix=UNASKED
//
// WITHOUT-NOT: sync unneeded
// WITHOUT: sync unknown: {{.*}}
// WITHOUT: Why: the trace was recorded without the option syncs, and does not tell where a clock is read.
// WITHOUT: streamsan: {{.*}}recorded without the option syncs: {{.*}} is not in the trace (to record it: streamsan run --syncs
// WITH-NOT: the option syncs
// WITH: sync unneeded:
// WITH: streamsan: {{.*}}recorded without the option timings: {{.*}} is not in the trace (to record it: streamsan run --timings
// UNASKED-NOT: recorded without
// UNASKED: SUMMARY
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  run_set(nullptr, a, 1);
  must(cudaDeviceSynchronize());
  run_set(nullptr, a, 1);
  must(cudaDeviceSynchronize());
}
