// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each host thread has its own stream; both write one buffer. A host-side join between them orders the calls, not the
// work. The report says which host thread submitted what; that of one thread alone (-DALONE) has no word of it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DALONE %s -o %t.alone
// RUN: %racy %t.alone 2>&1 | %sites --check-prefix=ALONE
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by cudaMemsetAsync on stream 2 (blocking), op #2, host thread 3
// CHECK: [[SECOND]]
// CHECK: Previous write by cudaMemsetAsync on stream 1 (blocking), op #1, host thread 2
// CHECK: [[FIRST]]
// ALONE: ERROR: streamsan: write-after-write
// ALONE-NOT: host thread
// ALONE: SUMMARY
#include <thread>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  const auto first = [&] {
    must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
#ifdef FIXED
    must(cudaStreamSynchronize(s1));
#endif
  };
  const auto second = [&] {
    must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
  };
#ifdef ALONE
  first();
  second();
#else
  std::thread(first).join();
  std::thread(second).join();
#endif
}
