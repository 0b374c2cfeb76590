// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// host_threads=separate: what one host thread has waited for is known to that thread only. Here the program does order
// its threads, by a join, which joined does not look at and does not need; the default, seen, and strict see it; and
// separate finds what would be a race if the join were not there.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %verdicts 2 none %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=joined %silent %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t
// RUN: env STREAMSAN_OPTIONS=host_threads=separate %racy %t 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: [[FIRST]]
#include <thread>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  std::thread([=] {
    must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
    must(cudaStreamSynchronize(s1));
  }).join();
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
