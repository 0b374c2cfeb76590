// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two functions with frames of one size call the same one, by turns and many times: from the driver's call up to there
// both stacks have the same addresses at the same places. The report names the one that it was each time, and so it does
// where the stacks are deeper than what is known again as a whole.
//
// RUN: %build -O1 %s -o %t
// RUN: %racy %t 0 2>&1 | %report
// RUN: env STREAMSAN_OPTIONS=stack_depth=64 %racy %t 40 2>&1 | %report
// RUN: %build -O1 -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed 0
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: on stream 2
// CHECK: #0 {{.*}}fill{{.*}}[[FILL]]
// CHECK: #1 {{.*}}right{{.*}}[[RIGHT]]
// CHECK: Previous write
// CHECK: #0 {{.*}}fill{{.*}}[[FILL]]
// CHECK: #1 {{.*}}left{{.*}}[[LEFT]]
// CHECK: 1 error
#include "must.h"

char* buffer;
constexpr size_t kBytes = 4096;

__attribute__((noinline)) void fill(char* to, cudaStream_t stream) {
  must(cudaMemsetAsync(to, 0, kBytes, stream));  // @FILL
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void left(char* to, cudaStream_t stream) {
  fill(to, stream);  // @LEFT
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void right(char* to, cudaStream_t stream) {
  fill(to, stream);  // @RIGHT
  asm volatile("# another function" ::: "memory");
}
__attribute__((noinline)) void deep(int levels, int round, cudaStream_t a, cudaStream_t b) {
  if (levels > 0) {
    deep(levels - 1, round, a, b);
    asm volatile("" ::: "memory");
    return;
  }
  // Halves of the buffer, one for each; in the last round both write the first.
  left(buffer, a);
#ifdef FIXED
  const bool both = false;
#else
  const bool both = round == 9;
#endif
  right(buffer + (both ? 0 : kBytes), b);
}

int main(int, char** arguments) {
  must(cudaMalloc(&buffer, 2 * kBytes));
  cudaStream_t a, b;
  must(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  for (int round = 0; round < 10; ++round) deep(std::atoi(arguments[1]), round, a, b);
  must(cudaDeviceSynchronize());
}
