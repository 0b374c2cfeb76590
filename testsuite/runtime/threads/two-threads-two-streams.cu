// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each host thread has its own stream; both write one buffer. A host-side join between them orders the calls, not the
// work.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemsetAsync
// CHECK: [[SECOND]]
// CHECK: write{{.*}}cudaMemsetAsync
// CHECK: [[FIRST]]
#include <thread>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  std::thread([&] {
    must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
#ifdef FIXED
    must(cudaStreamSynchronize(s1));
#endif
  }).join();
  std::thread([&] {
    must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
  }).join();
}
