// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that was pinned later, by cudaHostRegister, is watched from then on.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[FIRST]]
// CHECK: allocated by cudaHostRegister
// CHECK-NEXT: main{{.*}}[[REGISTER]]
#include "must.h"

alignas(4096) char host[1 << 16];

int main() {
  char* device;
  must(cudaMalloc(&device, sizeof host));
  must(cudaHostRegister(host, sizeof host, cudaHostRegisterDefault));  // @REGISTER
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, s1));  // @FIRST
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  must(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, s2));  // @SECOND
}
