// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plug-in opened with RTLD_LOCAL that is itself linked with libcuda: dlsym(RTLD_DEFAULT, ...) from inside it searches
// its own libraries too. It finds the same functions with and without StreamSan, those that are passed through as well.
//
// RUN: %build_driver -DPLUGIN -shared -Xcompiler -fPIC %s -o %t.so
// RUN: %build_host %s -o %t -ldl
// RUN: %expect 0 %run %t %t.so 2>&1 | %filecheck %s --check-prefix=ALONE
//
// ALONE-NOT: {{.}}
// ALONE: {{^}}streamsan: WARNING: nothing was checked{{.*$}}
// ALONE-NOT: {{.}}
#include <dlfcn.h>

#ifdef PLUGIN
#include <cuda.h>

extern "C" int missing() {
  int version = 0;
  cuDriverGetVersion(&version);  // keeps the dependency
  int count = 0;
  const char* const names[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuLaunchKernel"};
  for (const char* name : names) count += dlsym(RTLD_DEFAULT, name) == nullptr;
  return count;
}
#else
int main(int, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return 97;
  return reinterpret_cast<int (*)()>(dlsym(plugin, "missing"))();
}
#endif
