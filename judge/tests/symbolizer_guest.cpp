// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a return address of its own, relative to its load bias. The line numbers below are in symbolizer_test.cpp.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

namespace guest {

void* seen = nullptr;

__attribute__((noinline)) int note(int value) {
  seen = __builtin_return_address(0);
  return value + 1;
}

// The calls are on lines 21 and 25.
//
__attribute__((always_inline)) inline int inner(int value) { return note(value) * 2; }

__attribute__((noinline)) int outer(int value) { return inner(value) + 3; }

}  // namespace guest

int main(int argc, char**) {
  int result = guest::outer(argc);
  Dl_info info{};
  link_map* map = nullptr;
  if (!dladdr1(guest::seen, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return 1;
  std::printf("%llx\n", static_cast<unsigned long long>(reinterpret_cast<ElfW(Addr)>(guest::seen) - map->l_addr));
  return result == 7 ? 0 : 1;
}
