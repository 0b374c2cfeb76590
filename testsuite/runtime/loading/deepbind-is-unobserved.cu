// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plug-in opened with RTLD_DEEPBIND looks up dlsym in its own libraries first and never meets ours. That cannot be
// helped from inside; it must be said. The program holds a driver's device file, as every CUDA process on real hardware
// does (here it opens a file of such a name itself). Opened plainly the same plug-in is observed.
//
// RUN: mkdir -p %t.dir/dev && touch %t.dir/dev/nvidia0
// RUN: %build -DPLUGIN -shared -Xcompiler -fPIC %s -o %t.so
// RUN: %build_host -x c++ %s -o %t -ldl
// RUN: %expect 0 %streamsan run --json=%t.json -- %t %t.so %t.dir/dev/nvidia0 deepbind 2>&1 | %filecheck %s
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: %expect 2 %streamsan run --require_activity=1 -- %t %t.so %t.dir/dev/nvidia0 deepbind
// RUN: %silent %t %t.so %t.dir/dev/nvidia0
//
// CHECK: CUDA is in use{{.*}}unobserved
// CHECK: streamsan: WARNING: process {{.*}}CUDA is in use, and none of its calls came through StreamSan
// CHECK-NEXT: streamsan: WARNING: nothing was checked
// JSON: summary.whole = false
#include "must.h"

#ifdef PLUGIN
extern "C" void plugin_entry() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMemset(buffer, 0, 4096));
}
#else
#include <dlfcn.h>
#include <fcntl.h>

int main(int argc, char** argv) {
  if (open(argv[2], O_RDONLY) < 0) return 96;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (argc == 4 ? RTLD_DEEPBIND : 0));
  if (!plugin) return 97;
  reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_entry"))();
  return 0;
}
#endif
