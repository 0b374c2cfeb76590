// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the compiler busy for minutes.
constexpr int sum() {
  int s = 0;
  for (int i = 0; i < 2000000000; ++i) {
    s ^= i;
  }
  return s;
}
static_assert(sum() >= 0);
