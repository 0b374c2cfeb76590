// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two plug-ins, each with a cudart of its own, share streams and memory by raw pointer: one program for the driver, and
// so for StreamSan.
//
// RUN: %build -DPLUGIN -shared -Xcompiler -fPIC %s -o %t.1.so
// RUN: cp %t.1.so %t.2.so
// RUN: %build_host -x c++ %s -o %t -ldl
// RUN: %racy %t %t.1.so %t.2.so 2>&1 | %report
// RUN: %silent %t %t.1.so %t.2.so wait
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: fill{{.*}}[[FILL]]
// CHECK: fill{{.*}}[[FILL]]
#include "must.h"

#ifdef PLUGIN
extern "C" void* allocate() {
  void* buffer;
  must(cudaMalloc(&buffer, 4096));
  return buffer;
}
extern "C" void fill(void* buffer, bool wait) {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemsetAsync(buffer, 0, 4096, stream));  // @FILL
  if (wait) must(cudaStreamSynchronize(stream));
}
#else
#include <dlfcn.h>

int main(int argc, char** argv) {
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (!first || !second || first == second) return 97;
  void* buffer = reinterpret_cast<void* (*)()>(dlsym(first, "allocate"))();
  void* plugins[] = {first, second};
  for (void* plugin : plugins) {
    reinterpret_cast<void (*)(void*, bool)>(dlsym(plugin, "fill"))(buffer, argc == 4);
  }
  return 0;
}
#endif
