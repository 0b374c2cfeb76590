// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With footprint_policy=asked nothing is measured before a conflict shows that it would matter. Then the kernels in it
// are, at their next launches.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-policy=asked -- %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=asked -v 1 -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=REPAIRED --implicit-check-not=ERROR
// RUN: %build -DLONELY %s -o %t.lonely
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=asked -v 1 -- %t.lonely 2>&1 \
// RUN:   | %filecheck %s --check-prefix=LONELY --implicit-check-not=ERROR
//
// SCRIPT: left write #0 4096
// SCRIPT: right write #0 4096
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[16 bytes overlap]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// REPAIRED: footprints of kernels measured: 2 launches in
// LONELY: footprints of kernels measured: 0 launches in
#include "asked.h"
#include "must.h"

__global__ void left(float* buffer, int count) {
  int i = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
  if (i < count) buffer[i] = 1;
}
__global__ void right(float* buffer, int count) {
  int i = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
  if (i < count) buffer[i] = 1;
}

int main() {
  constexpr int kFloats = 1024;
#if defined(FIXED) || defined(LONELY)
  constexpr int kShared = 0;
#else
  constexpr int kShared = 4;
#endif
  float* buffer;
  must(cudaMalloc(&buffer, 2 * kFloats * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
#ifdef LONELY
  constexpr bool kLonely = true;
#else
  constexpr bool kLonely = false;
#endif
  for (int round = 0; round < 2; ++round) {
    left<<<4, 256, 0, s1>>>(buffer, kFloats);  // @FIRST
    must(cudaGetLastError());
    if (!kLonely) right<<<4, 256, 0, s2>>>(buffer + kFloats - kShared, kFloats);  // @SECOND
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
    if (round == 0 && !kLonely) until_asked(2);
  }
}
