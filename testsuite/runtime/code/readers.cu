// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams read one input through pointers to non-const. The signature leaves open whether they write it, their code
// does not. Racy: the second kernel does write it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %computed %expect 0 %streamsan run --min_severity=note -- %t.fixed > %t.all 2>&1
// RUN: %expect 1 test -s %t.all
// RUN: %expect 0 %streamsan run --min_severity=possible -- %t.fixed 2>&1 | %sites --check-prefix=POSSIBLE
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// POSSIBLE: POSSIBLE: streamsan:
#include "must.h"

__global__ void copy(float* to, float* from) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void swap(float* a, float* b) {
  float kept = a[threadIdx.x];
  a[threadIdx.x] = b[threadIdx.x];
  b[threadIdx.x] = kept;
}

#ifdef FIXED
#define SECOND copy
#else
#define SECOND swap
#endif

int main() {
  float *in, *out1, *out2;
  must(cudaMalloc(&in, 4096));
  must(cudaMalloc(&out1, 4096));
  must(cudaMalloc(&out2, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  copy<<<1, 256, 0, s1>>>(out1, in);  // @FIRST
  must(cudaGetLastError());
  SECOND<<<1, 256, 0, s2>>>(out2, in);  // @SECOND
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
