// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA code is in a plug-in that the program opens at run time; the program itself knows nothing of CUDA.
//
// RUN: %build -DPLUGIN -shared -Xcompiler -fPIC %s -o %t.so
// RUN: %build -DPLUGIN -DFIXED -shared -Xcompiler -fPIC %s -o %t.fixed.so
// RUN: %build_host -x c++ %s -o %t -ldl
// RUN: %racy %t %t.so 2>&1 | %report
// RUN: %silent %t %t.fixed.so
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: plugin_entry{{.*}}[[READ]]
// CHECK: main{{.*}}[[CALL]]
// CHECK: write{{.*}}cudaMemsetAsync
// CHECK: plugin_entry{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[CALL]]
#include "must.h"

#ifdef PLUGIN
__global__ void consume(const char*) {}

extern "C" void plugin_entry() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @WRITE
  consume<<<1, 32, 0, s2>>>(buffer);           // @READ
  must(cudaGetLastError());
}
#else
#include <dlfcn.h>

int main(int, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return 97;
  reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_entry"))();  // @CALL
  return 0;
}
#endif
