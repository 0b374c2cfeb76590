// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a return address of its own, relative to its load bias, and the lines of the two calls it stands for.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

namespace guest {

void* seen = nullptr;
int inner_line = 0;
int outer_line = 0;

__attribute__((noinline)) int note(int value) {
  seen = __builtin_return_address(0);
  return value + 1;
}

__attribute__((always_inline)) inline int inner(int value) {
  inner_line = __LINE__ + 1;
  return note(value) * 2;
}

__attribute__((noinline)) int outer(int value) {
  outer_line = __LINE__ + 1;
  return inner(value) + 3;
}

}  // namespace guest

int main(int argc, char**) {
  int result = guest::outer(argc);
  Dl_info info{};
  link_map* map = nullptr;
  if (!dladdr1(guest::seen, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return 1;
  std::printf("%llx %d %d\n", static_cast<unsigned long long>(reinterpret_cast<ElfW(Addr)>(guest::seen) - map->l_addr),
              guest::inner_line, guest::outer_line);
  return result == 7 ? 0 : 1;
}
