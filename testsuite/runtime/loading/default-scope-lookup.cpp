// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlsym(RTLD_DEFAULT, "cuInit") finds a driver only if the program has one. The preloaded library exports the name too,
// and must not make a program without a driver believe that there is one.
//
// RUN: %build_host %s -o %t -ldl
// RUN: %t > %t.plain
// RUN: %run %t > %t.under
// RUN: diff %t.plain %t.under
// RUN: %filecheck %s --input-file %t.under
//
// CHECK: before: 0
// CHECK: after: 1
#include <dlfcn.h>

#include <cstdio>

int main() {
  std::printf("before: %d\n", dlsym(RTLD_DEFAULT, "cuInit") != nullptr);
  if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return 97;
  std::printf("after: %d\n", dlsym(RTLD_DEFAULT, "cuInit") != nullptr);
}
