// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A guest with AddressSanitizer, which intercepts dlsym and dlopen itself and wants to come first. Where its runtime is
// a shared library it refuses to start behind another one, unless an option says not to look: the launcher sets it. It
// still finds its own bugs.
//
// RUN: %build_host -fsanitize=address %s -o %t.shared -ldl
// RUN: env ASAN_OPTIONS=detect_leaks=0 %racy %t.shared 2>&1 | %report
// RUN: env ASAN_OPTIONS=detect_leaks=0 %expect 1 %run %t.shared overrun 2>&1 | %filecheck %s --check-prefix=PAST
// RUN: %build_host -DFIXED -fsanitize=address %s -o %t.shared.fixed -ldl
// RUN: env ASAN_OPTIONS=detect_leaks=0 %silent %t.shared.fixed
// RUN: %build_host -fsanitize=address -static-libasan %s -o %t -ldl
// RUN: env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %racy %t 2>&1 | %report
// RUN: %build_host -DFIXED -fsanitize=address -static-libasan %s -o %t.fixed -ldl
// RUN: env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %silent %t.fixed
//
// PAST: AddressSanitizer: heap-buffer-overflow
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "looked_up_driver.h"

int main(int argc, char**) {
  volatile char* heap = new char[1];
  if (argc == 2) heap[1] = 1;
  delete[] heap;
  LookedUpDriver driver;
  if (!driver.open()) return 97;
#ifdef FIXED
  driver.s2 = driver.s1;
#endif
  must(driver.fill(driver.buffer, 0, 4096, driver.s1));  // @FIRST
  must(driver.fill(driver.buffer, 1, 4096, driver.s2));  // @SECOND
}
