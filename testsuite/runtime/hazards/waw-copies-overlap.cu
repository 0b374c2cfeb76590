// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies in two streams. Half of their ranges is common: a race, exact to the byte. Side by side they are not.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write{{.*}}2048 bytes
// CHECK: Write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[FIRST]]
// CHECK: cause=no-edge
#include "must.h"

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, 2 * kBytes));
  must(cudaMalloc(&buffer, 2 * kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  constexpr size_t kBegin = kBytes;
#else
  constexpr size_t kBegin = kBytes / 2;
#endif
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));                    // @FIRST
  must(cudaMemcpyAsync(buffer + kBegin, host + kBegin, kBytes, cudaMemcpyHostToDevice, s2));  // @SECOND
}
