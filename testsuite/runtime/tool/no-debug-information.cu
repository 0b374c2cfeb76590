// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program without debug information: functions are named from its symbols, places by module and offset, and a hint
// says how to get lines.
//
// RUN: %build %s -o %t
// RUN: objcopy --strip-debug %t %t.nodebug
// RUN: %racy %t.nodebug 2>&1 | %filecheck %s
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: #0 {{.*}}second_writer{{.*}}no-debug-information.cu.tmp.nodebug+0x
// CHECK: #0 {{.*}}first_writer{{.*}}no-debug-information.cu.tmp.nodebug+0x
// CHECK: -g
#include "must.h"

__attribute__((noinline)) void first_writer(char* buffer, cudaStream_t stream) {
  must(cudaMemsetAsync(buffer, 0, 4096, stream));
}
__attribute__((noinline)) void second_writer(char* buffer, cudaStream_t stream) {
  must(cudaMemsetAsync(buffer, 1, 4096, stream));
}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  first_writer(buffer, s1);
  second_writer(buffer, s2);
}
