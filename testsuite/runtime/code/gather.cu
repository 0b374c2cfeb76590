// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel scatters through an index array. Where it writes depends on memory: a conflict there stays possible, for the
// two may well be apart. What it reads is exact beside that: a copy over one element of the input is an error, one
// behind it is none.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %expect 0 %streamsan run --min_severity=possible -- %t.fixed 2>&1 | %sites --check-prefix=POSSIBLE
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: [4 bytes overlap]
// CHECK: main{{.*}}[[COPY]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NOT: ERROR
// POSSIBLE-NOT: ERROR
// POSSIBLE: POSSIBLE: streamsan: write-after-write
// POSSIBLE: main{{.*}}[[SECOND]]
// POSSIBLE: main{{.*}}[[FIRST]]
// POSSIBLE-NOT: streamsan: write-after
#include "must.h"

__global__ void scatter(float* out, const int* index, const float* in) { out[index[threadIdx.x]] = in[threadIdx.x]; }

int main() {
#ifdef FIXED
  constexpr int kBegin = 256;
#else
  constexpr int kBegin = 255;
#endif
  float *out, *in1, *in2, *host;
  int* index;
  must(cudaMalloc(&out, 4096));
  must(cudaMalloc(&index, 4096));
  must(cudaMalloc(&in1, 4096));
  must(cudaMalloc(&in2, 4096));
  must(cudaMallocHost(&host, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  scatter<<<1, 256, 0, s1>>>(out, index, in1);  // @FIRST
  must(cudaGetLastError());
  scatter<<<1, 256, 0, s2>>>(out, index, in2);  // @SECOND
  must(cudaGetLastError());
  must(cudaMemcpyAsync(in1 + kBegin, host, 64, cudaMemcpyHostToDevice, s2));  // @COPY
  must(cudaDeviceSynchronize());
}
