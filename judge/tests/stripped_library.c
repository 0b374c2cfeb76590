// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built once with all its symbols and once stripped.
int exported_first(int value);
int exported_last(int value);

static volatile int sink;

__attribute__((visibility("default"), noinline)) int exported_first(int value) {
  sink = value;
  return sink + 1;
}

__attribute__((noinline, used)) static int hidden_between(int value) {
  for (int i = 0; i < value; ++i) sink = sink * 31 + i;
  return sink;
}

__attribute__((visibility("default"), noinline)) int exported_last(int value) { return hidden_between(value) + 2; }
