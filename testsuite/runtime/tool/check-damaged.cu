// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan check` of a trace that is cut short, overwritten in the middle, empty, or no trace at all: it reads what
// is whole, says what is not, and exits with 2.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace %t.cut %t.hole %t.empty
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %expect 66 %streamsan check %t.trace 2>&1 | %report
//
// The race stands within the first 4,000 records; the file is cut behind them.
// RUN: head -c 300000 %t.trace > %t.cut
// RUN: %expect 2 %streamsan check %t.cut 2>&1 | %sites --check-prefixes=CHECK,DAMAGE
//
// RUN: cp %t.trace %t.hole
// RUN: sh -c 'head -c 65536 /dev/urandom | dd of=%t.hole bs=1 seek=400000 conv=notrunc 2>/dev/null'
// RUN: %expect 2 %streamsan check %t.hole 2>&1 | %sites --check-prefixes=CHECK,DAMAGE
//
// RUN: touch %t.empty
// RUN: %expect 2 %streamsan check %t.empty 2>&1 | %sites --check-prefix=DAMAGE
// RUN: %expect 2 %streamsan check %s 2>&1 | %sites --check-prefix=DAMAGE
// RUN: %expect 2 %streamsan check %t.no-such-file 2>&1 | %sites --check-prefix=DAMAGE
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// DAMAGE: {{streamsan.*(not a trace|truncated|cut|corrupt|damaged|cannot|empty|No such file)}}
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  for (int i = 0; i < 10000; ++i) must(cudaMemsetAsync(buffer + 64, i, 16, s1));
}
