// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The destination of one device-to-device copy is the source of another one in a second stream.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[WRITE]]
// CHECK: allocated by cudaMalloc
// CHECK-NEXT: main{{.*}}[[MIDDLE]]
#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *a, *b, *c;
  must(cudaMalloc(&a, kBytes));
  must(cudaMalloc(&b, kBytes));  // @MIDDLE
  must(cudaMalloc(&c, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, s1));  // @WRITE
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  must(cudaMemcpyAsync(c, b, kBytes, cudaMemcpyDeviceToDevice, s2));  // @READ
}
