// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call stacks: all frames up to main by default, also without frame pointers and with optimisation; stack_depth cuts
// them; with stacks=0 there are none, and the finding is the same.
//
// RUN: %build -O2 -Xcompiler -fomit-frame-pointer %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: env STREAMSAN_OPTIONS=stack_depth=4 %racy %t 2>&1 | %sites --check-prefix=SHORT
// RUN: env STREAMSAN_OPTIONS=stacks=0 %racy %t 2>&1 | %sites --check-prefix=NONE
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: #0 {{.*}}innermost{{.*}}[[PLACE]]
// CHECK: #1 {{.*}}middle{{.*}}[[MIDDLE]]
// CHECK: #2 {{.*}}outer{{.*}}[[OUTER]]
// CHECK: #3 {{.*}}main{{.*}}[[MAIN]]
// SHORT: ERROR: streamsan: write-after-write
// SHORT-NOT: [[MAIN]]
// NONE: ERROR: streamsan: write-after-write
// NONE-NOT: [[PLACE]]
// NONE: cause=no-edge
#include "must.h"

char* buffer;

__attribute__((noinline)) void innermost(int value) {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemsetAsync(buffer, value, 4096, stream));  // @PLACE
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void middle(int value) {
  innermost(value + 1);  // @MIDDLE
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void outer(int value) {
  middle(value + 1);  // @OUTER
  asm volatile("" ::: "memory");
}

int main() {
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) outer(i);  // @MAIN
}
