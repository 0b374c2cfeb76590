// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// must(call): the programs of this suite stop with exit code 99 at the first CUDA call that fails, runtime or driver.
// A program whose calls all failed would be silent too, and prove nothing.
#pragma once

#include <cstdio>
#include <cstdlib>

template <typename Result>
void must(Result result, int line = __builtin_LINE()) {
  if (static_cast<int>(result) == 0) return;
  std::fprintf(
      stderr, "line %d: a CUDA call failed with %d%s\n", line, static_cast<int>(result),
      static_cast<int>(result) == 801 ? ": not supported; on the null driver: testsuite/nulldriver lacks it" : "");
  std::_Exit(99);
}
