// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A suppression takes a call site off the list, and the report says how many are suppressed.
//
// RUN: %build %s -o %t
// RUN: echo "unneeded-sync:^wait_for_all" > %t.supp
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1,suppressions=%t.supp %run %t 2>&1 | %report
// RUN: echo "unneeded-sync:*" > %t.all.supp
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1,suppressions=%t.all.supp %run %t 2>&1 | %report --check-prefix=ALL
//
// CHECK-NOT: sync unneeded
// CHECK: 1 synchronising call site: 1 needed (1 not shown: verbosity=1 shows all); 1 more suppressed{{$}}
// ALL-NOT: NOTE:
// ALL: streamsan: 2 synchronising call sites, all of them suppressed{{$}}
// ALL-NEXT: SUMMARY: streamsan: no errors, 2 suppressed
#include "syncs.h"

void wait_for_all() { must(cudaDeviceSynchronize()); }

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  wait_for_all();
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
