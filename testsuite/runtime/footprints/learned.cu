// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop launches one kernel for each part of a buffer, again and again. Each launch is measured twice, and what
// was learned holds for the rest: neighbours in other streams are disjoint and silent, and nothing more is measured.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %silent %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s
// RUN: %measured WIDER-SCRIPT %expect 0 %streamsan run --min-severity=possible -- %t 2>&1 | %filecheck %s --check-prefix=WIDER
// REQUIRES: nulldriver
//
// SCRIPT: part@1 write #0 1024
// SCRIPT: part@2 write #0 1024
// SCRIPT: part@3 write #0+1024 1024
// SCRIPT: part@4 write #0+1024 1024
// SCRIPT: part@5 write #0+2048 1024
// SCRIPT: part@6 write #0+2048 1024
// SCRIPT: part@7 write #0+3072 1024
// SCRIPT: part@8 write #0+3072 1024
//
// One launch in four that reaches one byte too far is found, though it was not measured when it mattered. The judge then
// asks, and hears that it does not any more.
// WIDER-SCRIPT: part@1 write #0 1024
// WIDER-SCRIPT: part@2 write #0 1024
// WIDER-SCRIPT: part@3 write #0+1024 1025
// WIDER-SCRIPT: part@4 write #0+1024 1025
// WIDER-SCRIPT: part@5 write #0+2048 1024
// WIDER-SCRIPT: part@6 write #0+2048 1024
// WIDER-SCRIPT: part@7 write #0+3072 1024
// WIDER-SCRIPT: part@8 write #0+3072 1024
// WIDER-SCRIPT: part nothing
//
// CHECK: streamsan: footprints of kernels measured: 8 launches in 0.0 s, 4 distinct footprints
// WIDER: POSSIBLE: streamsan: write-after-write{{.*}}[up to 1 byte overlap]
#include "must.h"

__global__ void part(float* buffer, int first) { buffer[first + threadIdx.x] = 1; }

int main() {
  constexpr int kParts = 4, kFloats = 256;
  float* buffer;
  must(cudaMalloc(&buffer, kParts * kFloats * sizeof(float)));
  cudaStream_t streams[kParts];
  for (int i = 0; i < kParts; ++i) {
    must(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (int twice = 0; twice < 2; ++twice) {
      part<<<1, kFloats, 0, streams[i]>>>(buffer, i * kFloats);
      must(cudaGetLastError());
      must(cudaDeviceSynchronize());
    }
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kParts; ++i) {
      part<<<1, kFloats, 0, streams[i]>>>(buffer, i * kFloats);
      must(cudaGetLastError());
    }
  }
  must(cudaDeviceSynchronize());
}
