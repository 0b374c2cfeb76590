// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With footprint_policy=asked nothing is measured before a conflict shows that it would matter. Then the kernels in it
// are, at their next launches.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-policy=asked -- %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured FIXED %expect 0 %streamsan run --footprint-policy=asked -v 1 -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=FIXED-RUN --implicit-check-not=ERROR
// RUN: %build -DLONELY %s -o %t.lonely
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=asked -v 1 -- %t.lonely 2>&1 \
// RUN:   | %filecheck %s --check-prefix=LONELY --implicit-check-not=ERROR
//
// SCRIPT: fill@1 write #0 4096
// SCRIPT: fill@2 write #0+4080 4096
// FIXED: fill@1 write #0 4096
// FIXED: fill@2 write #0+4096 4096
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[16 bytes overlap]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// FIXED-RUN: footprints of kernels measured: 2 launches in
// LONELY: footprints of kernels measured: 0 launches in
#include "asked.h"
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
  for (int round = 0; round < 2; ++round) {
    fill<<<4, 256, 0, s1>>>(buffer, 0, kFloats);  // @FIRST
    must(cudaGetLastError());
#ifndef LONELY
    fill<<<4, 256, 0, s2>>>(buffer, kFloats - kShared, kFloats);  // @SECOND
    must(cudaGetLastError());
#endif
    must(cudaDeviceSynchronize());
#ifndef LONELY
    if (round == 0) until_asked();
#endif
  }
}
