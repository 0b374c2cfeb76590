// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two runs of one program have the same findings, wherever it was loaded and whatever its threads were called; so has
// the program with lines and code added above. A race that is new fails the gate, and one that is repaired does not.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.1.json -- %t 2> /dev/null
// RUN: %expect 66 %streamsan run --json %t.2.json -- %t more threads 2> /dev/null
// RUN: %expect 0 %streamsan diff %t.1.json %t.2.json | %filecheck %s --check-prefix=SAME
//
// RUN: %build -DSHIFTED %s -o %t.shifted
// RUN: %expect 66 %streamsan run --json %t.3.json -- %t.shifted 2> /dev/null
// RUN: %expect 0 %streamsan diff --json=%t.diff.json %t.1.json %t.3.json | %filecheck %s --check-prefix=SAME
// RUN: %json %t.diff.json | %filecheck %s --check-prefix=SHIFTED
//
// RUN: %build -DMORE %s -o %t.more
// RUN: %expect 66 %streamsan run --json %t.4.json -- %t.more 2> /dev/null
// RUN: %expect 66 %streamsan diff %t.1.json %t.4.json | %sites --check-prefix=NEW
// RUN: %expect 66 %streamsan diff --json %t.1.json %t.4.json > %t.new.json
// RUN: %json %t.new.json | %filecheck %s --check-prefix=NEW-JSON
// RUN: %expect 0 %streamsan diff --fail-on=none %t.1.json %t.4.json > /dev/null
// RUN: %expect 7 %streamsan diff --exitcode=7 %t.1.json %t.4.json > /dev/null
// RUN: %expect 0 %streamsan diff %t.4.json %t.1.json | %sites --check-prefix=GONE
// RUN: echo 'race:^extra()$' > %t.supp
// RUN: %expect 0 %streamsan diff --suppressions=%t.supp %t.1.json %t.4.json | %filecheck %s --check-prefix=SAME
//
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %expect 0 %streamsan run --json %t.5.json -- %t.fixed
// RUN: %expect 0 %streamsan diff %t.1.json %t.5.json | %filecheck %s --check-prefix=FIXED
//
// Traces are judged first.
// RUN: rm -f %t.a.trace %t.b.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.a.trace %t
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.b.trace %t.more
// RUN: %expect 66 %streamsan diff %t.a.trace %t.b.trace | %sites --check-prefix=NEW
// RUN: %expect 0 %streamsan diff %t.1.json %t.a.trace | %filecheck %s --check-prefix=SAME
// RUN: head -c 6000 %t.b.trace > %t.cut.trace
// RUN: %expect 2 %streamsan diff %t.a.trace %t.cut.trace | %filecheck %s --check-prefix=DOUBT
//
// SAME-NOT: WARNING
// SAME: SUMMARY: streamsan: new: 0; gone: 0; unchanged: 2 errors
// SHIFTED: counts.unchanged = 2
// SHIFTED: unchanged[0].fingerprint = "[[PRINT:[0-9a-f]+]]"
// SHIFTED-NOT: unchanged[0].fingerprint_before = "[[PRINT]]"
// NEW: New:
// NEW-NEXT: ERROR: streamsan: write-after-write
// NEW: extra(){{.*}}[[EXTRA]]
// NEW: SUMMARY: streamsan: new: 1 error; gone: 0; unchanged: 2 errors
// NEW-JSON: counts.new = 1
// NEW-JSON: failed = true
// GONE-NOT: ERROR
// GONE: Gone, error: write-after-write race {{.*}}[[EXTRA]]{{.*}} in extra()
// GONE: SUMMARY: streamsan: new: 0; gone: 1 error; unchanged: 2 errors
// FIXED: SUMMARY: streamsan: new: 0; gone: 2 errors; unchanged: 0
// DOUBT: WARNING: the second was not judged to its end
#include <thread>

#include "must.h"

#ifdef SHIFTED
// Lines
// and
// code
// that were not there before.
volatile int counter = 0;
void count_up() {
  for (int i = 0; i < 100; ++i) counter = counter + i;
}
#endif

cudaStream_t stream() {
  static cudaStream_t first;
  cudaStream_t made;
  must(cudaStreamCreate(&made));
#ifdef FIXED
  if (!first) first = made;
  return first;
#else
  return made;
#endif
}

void first(char* buffer) {
#ifdef SHIFTED
  count_up();
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, stream()));
  must(cudaMemsetAsync(buffer, 1, 4096, stream()));
}

void second(char* buffer) {
  must(cudaMemsetAsync(buffer, 0, 4096, stream()));
  must(cudaMemsetAsync(buffer, 1, 4096, stream()));
}

void extra() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMemsetAsync(buffer, 0, 4096, stream()));
  must(cudaMemsetAsync(buffer, 1, 4096, stream()));  // @EXTRA
}

int main(int argc, char**) {
  for (int i = 1; i < argc; ++i) std::thread([] { must(cudaDeviceSynchronize()); }).join();
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  first(buffer);
  must(cudaDeviceSynchronize());
  second(buffer);
  must(cudaDeviceSynchronize());
#ifdef MORE
  extra();
  must(cudaDeviceSynchronize());
#endif
}
