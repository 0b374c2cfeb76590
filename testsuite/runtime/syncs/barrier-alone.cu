// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that uses the default stream alone has no barriers to speak of.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: barrier that
// CHECK: 1 synchronising call site: 1 needed
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  run_set(nullptr, a, 1);
  run_add(nullptr, b, a, 1);
  must(cudaDeviceSynchronize());
}
