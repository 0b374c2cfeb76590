// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another preloaded library wraps the same functions, before us or behind us: each call goes through it once. (With us
// behind it, it is its own dlsym(RTLD_NEXT) that finds us.)
//
// RUN: %build_host -DWRAPPER -shared -fPIC %s -o %t.so -ldl
// RUN: %build_host %s -o %t
// RUN: env LD_PRELOAD=%t.so %t 2>&1 | %filecheck %s
// RUN: env LD_PRELOAD=%preload:%t.so STREAMSAN_OPTIONS=trace_path=%t.1.trace %t 2>&1 | %filecheck %s
// RUN: env LD_PRELOAD=%t.so:%preload STREAMSAN_OPTIONS=trace_path=%t.2.trace %t 2>&1 | %filecheck %s
//
// CHECK: 3 writes, 5 frees, 2 munmaps
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#ifdef WRAPPER
#include <dlfcn.h>

extern "C" {
int writes, frees, munmaps;

ssize_t write(int file, const void* bytes, size_t count) {
  static auto* real = reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  ++writes;
  return real(file, bytes, count);
}
void free(void* block) noexcept {
  static void (*real)(void*);
  if (!real) real = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_NEXT, "free"));
  ++frees;
  real(block);
}
int munmap(void* begin, size_t bytes) noexcept {
  static auto* real = reinterpret_cast<int (*)(void*, size_t)>(dlsym(RTLD_NEXT, "munmap"));
  ++munmaps;
  return real(begin, bytes);
}
}
#else
extern "C" {
extern int writes __attribute__((weak));
extern int frees __attribute__((weak));
extern int munmaps __attribute__((weak));
}

int main() {
  int before = frees;
  for (int i = 0; i < 3; ++i) {
    if (write(-1, "x", 1) != -1) return 1;
  }
  for (int i = 0; i < 5; ++i) {
    void* block = malloc(10);
    asm volatile("" : "+r"(block));
    free(block);
  }
  for (int i = 0; i < 2; ++i) {
    munmap(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
  }
  std::printf("%d writes, %d frees, %d munmaps\n", writes, frees - before, munmaps);
}
#endif
