// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two launches of one kernel work on the two halves of a buffer. What each touches stands in the kernel's code: halves
// are silent, and one element more is an error that names its bytes. Nothing of that is known without the code.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %expect 0 %streamsan run --kernel_code=false --min_severity=possible -- %t 2>&1 | %sites --check-prefix=POSSIBLE
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %computed %expect 0 %streamsan run --min_severity=note -- %t.fixed > %t.all 2>&1
// RUN: %expect 1 test -s %t.all
// RUN: %expect 0 %streamsan run --kernel_code=false --min_severity=possible -- %t.fixed 2>&1 \
// RUN:   | %sites --check-prefix=POSSIBLE
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: [4 bytes overlap]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NOT: streamsan: write-after
// POSSIBLE-NOT: ERROR
// POSSIBLE: POSSIBLE: streamsan: write-after-write
#include "must.h"

__global__ void fill(float* data, int from, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[from + i] = 1;
}

int main() {
#ifdef FIXED
  constexpr int kFirst = 500;
#else
  constexpr int kFirst = 501;
#endif
  float* data;
  must(cudaMalloc(&data, 1000 * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  fill<<<2, 256, 0, s1>>>(data, 0, kFirst);  // @FIRST
  must(cudaGetLastError());
  fill<<<2, 256, 0, s2>>>(data, 500, 500);  // @SECOND
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
