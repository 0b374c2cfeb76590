// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the plug-in named on the command line and runs its one function. Knows nothing of CUDA.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (plugin == nullptr) {
    std::fprintf(stderr, "no plug-in: %s\n", argc == 2 ? dlerror() : "usage: plugin_host PLUGIN");
    return 2;
  }
  auto step = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_step"));
  return step != nullptr ? step() : 2;
}
