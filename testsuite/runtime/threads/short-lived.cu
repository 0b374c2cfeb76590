// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of host threads that live for one call each, with their per-thread default streams: numbers, stacks and
// streams of threads that are gone are not mistaken for those of later ones. Each thread waits for its work, so nothing
// races.
//
// RUN: %build_ptds %s -o %t
// RUN: %silent %t
// RUN: %build_ptds -DNO_SYNC %s -o %t.nosync
// RUN: %racy %t.nosync 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemsetAsync{{.*}}per-thread
// CHECK: [[FILL]]
#include <thread>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2000; ++i) {
    std::thread([=] {
      must(cudaMemsetAsync(buffer, i, 4096));  // @FILL
#ifndef NO_SYNC
      must(cudaStreamSynchronize(0));
#endif
    }).join();
  }
}
