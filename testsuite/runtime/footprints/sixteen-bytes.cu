// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel fills two parts of one buffer in two streams. The parts share their last and first sixteen bytes: an error
// that names just these. If they share none: silent. That both get the start of the buffer does not matter, as it does
// where footprints are inferred: there it is `possible` either way.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured FIXED %silent %t.fixed
// RUN: %expect 0 %streamsan run --footprints=inferred --min-severity=possible -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=INFERRED
//
// SCRIPT: fill@1 write #0 4096
// SCRIPT: fill@2 write #0+4080 4096
// FIXED: fill@1 write #0 4096
// FIXED: fill@2 write #0+4096 4096
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[16 bytes overlap]
// CHECK: Write by kernel fill(float*, int, int)
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write by kernel fill(float*, int, int)
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan: 1 error
// INFERRED: POSSIBLE: streamsan: write-after-write
#include "must.h"

__global__ void fill(float* buffer, int first, int count) {
  int i = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
  if (i < count) buffer[first + i] = 1;
}

int main() {
  constexpr int kFloats = 1024;
#ifdef FIXED
  constexpr int kShared = 0;
#else
  constexpr int kShared = 4;
#endif
  float* buffer;
  must(cudaMalloc(&buffer, 2 * kFloats * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  fill<<<4, 256, 0, s1>>>(buffer, 0, kFloats);  // @FIRST
  must(cudaGetLastError());
  fill<<<4, 256, 0, s2>>>(buffer, kFloats - kShared, kFloats);  // @SECOND
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
