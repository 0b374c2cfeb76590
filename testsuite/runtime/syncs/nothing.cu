// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that never waits.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK: {{^}}=={{[0-9]+}}== streamsan: no synchronising call sites
// CHECK-NEXT: SUMMARY
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  run_set(nullptr, a, 1);
}
