// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is needed is counted, and listed only when everything is.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: NOTE
// CHECK: {{^}}=={{[0-9]+}}== streamsan: 1 synchronising call site: 1 needed (1 not shown: verbosity=1 shows all)
// CHECK-NEXT: SUMMARY: streamsan: no errors
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());
}
