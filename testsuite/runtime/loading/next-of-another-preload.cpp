// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another preloaded library wraps a function and asks dlsym(RTLD_NEXT) for the real one. RTLD_NEXT means "behind the
// library that asks": if our dlsym stood between as the caller, the other library would be handed its own wrapper and
// call itself for ever. Both orders of the two libraries.
//
// RUN: %build_host -DWRAPPER -shared -fPIC %s -o %t.so -ldl
// RUN: %build_host %s -o %t
// RUN: env LD_PRELOAD=%t.so %t | %filecheck %s
// RUN: env LD_PRELOAD=%preload:%t.so STREAMSAN_OPTIONS=trace_path=%t.1.trace %t | %filecheck %s
// RUN: env LD_PRELOAD=%t.so:%preload STREAMSAN_OPTIONS=trace_path=%t.2.trace %t | %filecheck %s
// RUN: env LD_PRELOAD=%t.so %run %t | %filecheck %s
//
// CHECK: wrapped: hello
#include <cstdio>

#ifdef WRAPPER
#include <dlfcn.h>

extern "C" int puts(const char* text) {
  static auto* real = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_NEXT, "puts"));
  std::fputs("wrapped: ", stdout);
  return real(text);
}
#else
int main() { puts("hello"); }
#endif
