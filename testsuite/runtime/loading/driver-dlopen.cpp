// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver-API program that opens libcuda at run time and takes every function by dlsym, as many frameworks do.
//
// RUN: %build_host %s -o %t -ldl
// RUN: %racy %t 2>&1 | %report
// RUN: %build_host -DFIXED %s -o %t.fixed -ldl
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "looked_up_driver.h"

int main() {
  LookedUpDriver driver;
  if (!driver.open()) return 97;
#ifdef FIXED
  driver.s2 = driver.s1;
#endif
  must(driver.fill(driver.buffer, 0, 4096, driver.s1));  // @FIRST
  must(driver.fill(driver.buffer, 1, 4096, driver.s2));  // @SECOND
}
