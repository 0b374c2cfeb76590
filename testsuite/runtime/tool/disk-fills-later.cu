// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first part of the trace fits, then the file may not grow any more. What was recorded is judged; that it is not
// all is said; the guest does not notice.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: sh -c 'ulimit -f 9000; LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace exec %t' > %t.out 2> %t.err
// RUN: %filecheck %s --input-file %t.out
// RUN: %filecheck %s --input-file %t.err --check-prefix=ERR
// RUN: not %streamsan check %t.trace 2>&1 | %sites --check-prefix=REPORT
//
// CHECK: the guest has done its work
// ERR: streamsan{{.*}}disabled: the trace file cannot grow
// REPORT-DAG: ERROR: streamsan: write-after-write
// REPORT-DAG: {{[Tt]race}}
// REPORT-DAG: main{{.*}}[[SECOND]]
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  for (int i = 0; i < 200000; ++i) must(cudaMemsetAsync(buffer, i, 16, s1));
  must(cudaStreamSynchronize(s1));
  std::puts("the guest has done its work");
}
