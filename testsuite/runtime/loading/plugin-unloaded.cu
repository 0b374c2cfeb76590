// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plug-in is closed before the program ends. Its code is gone when the report is made; its frames are still named.
//
// RUN: %build -DPLUGIN -shared -Xcompiler -fPIC %s -o %t.so
// RUN: %build_host -x c++ %s -o %t -ldl
// RUN: %racy %t %t.so 2>&1 | %report
// RUN: %silent %t %t.so once
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: plugin_entry{{.*}}[[SECOND]]
// CHECK: plugin_entry{{.*}}[[FIRST]]
#include "must.h"

#ifdef PLUGIN
extern "C" void plugin_entry(bool both) {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));            // @FIRST
  if (both) must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
#else
#include <dlfcn.h>

int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return 97;
  reinterpret_cast<void (*)(bool)>(dlsym(plugin, "plugin_entry"))(argc == 2);
  dlclose(plugin);
  return 0;
}
#endif
