// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that starts CUDA and makes no operation was not checked, now or later from its trace; with one operation it
// was. A program that is linked statically cannot be.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.kept && mkdir %t.kept
// RUN: %expect 0 %streamsan run --keep_trace --trace_dir=%t.kept -- %t 2>&1 | %filecheck %s
// RUN: %expect 0 %streamsan check %t.kept/*/*.trace 2>&1 | %filecheck %s
// RUN: %expect 2 %streamsan check --require_activity=1 %t.kept/*/*.trace
// RUN: %silent %t once
// RUN: echo 'int main() { return 0; }' > %t.c && %cc -static %t.c -o %t.static
// RUN: %expect 0 %run %t.static 2>&1 | %filecheck %s --check-prefix=STATIC
//
// CHECK: WARNING: nothing was checked: {{.*}}made no operation
// STATIC: WARNING: nothing was checked: {{.*}}the recorder cannot be preloaded into {{.*}}.static: it is linked statically
#include "must.h"

int main(int argc, char**) {
  must(cudaFree(nullptr));
  if (argc == 1) return 0;
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMemset(buffer, 0, 4096));
}
