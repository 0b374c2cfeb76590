// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver that is there and cannot start (no device, a driver and a kernel module of different versions): the program
// gets the driver's answer, and StreamSan says why it has checked nothing. Its twin has a driver that starts.
//
// REQUIRES: nulldriver
// RUN: mkdir -p %t.dir
// RUN: %cc -shared -fPIC -x c -DDRIVER -Wl,-soname,libcuda.so.1 %s -o %t.dir/libcuda.so.1
// RUN: %build_host %s -ldl -o %t
// RUN: env LD_LIBRARY_PATH=%t.dir %expect 3 %t > %t.plain 2>&1
// RUN: env LD_LIBRARY_PATH=%t.dir %expect 3 %streamsan run --json=%t.json -- %t > %t.under 2> %t.why
// RUN: diff %t.plain %t.under
// RUN: %filecheck %s --input-file %t.under
// RUN: %filecheck %s --check-prefix=WHY --input-file %t.why
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=STARTS
//
// CHECK: cuInit: 999
// WHY: nothing was checked: {{.*}}cuInit failed with error 999
// JSON: summary.whole = false
// STARTS-NOT: cuInit failed
// STARTS: cuInit: 0
#ifdef DRIVER
int cuInit(unsigned flags) { return flags == 0 ? 999 : 1; }
#else
#include <dlfcn.h>

#include <cstdio>

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto start = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
  if (!start) return 98;
  const int result = start(0);
  std::printf("cuInit: %d\n", result);
  return result == 0 ? 0 : 3;
}
#endif
