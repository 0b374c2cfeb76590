// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By default a launch is measured if it could meet something that nothing orders with it. A program with one stream has
// nothing measured. Where two streams use one buffer without order, each kernel's first launch is measured, so a race
// that happens once is found. With an event between them each kernel is measured once, in case that is not so, and not
// again in any of the rounds that follow.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-policy=needed -- %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=needed -v 1 -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=FIXED --implicit-check-not=ERROR
// RUN: %build -DALONE %s -o %t.alone
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=needed -v 1 -- %t.alone 2>&1 \
// RUN:   | %filecheck %s --check-prefix=ALONE --implicit-check-not=ERROR
//
// SCRIPT: left write #0 4096
// SCRIPT: right write #0 4096
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[16 bytes overlap]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// FIXED: footprints of kernels measured: 2 launches in
// ALONE: footprints of kernels measured: 0 launches in
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
  constexpr int kFloats = 1024, kShared = 4;
  float* buffer;
  must(cudaMalloc(&buffer, 2 * kFloats * sizeof(float)));
#ifdef ALONE
  cudaStream_t s1 = nullptr, s2 = nullptr;
#else
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
#endif
#if defined(FIXED) || defined(ALONE)
  constexpr int kRounds = 5;
#else
  constexpr int kRounds = 1;
#endif
  cudaEvent_t done;
  must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int round = 0; round < kRounds; ++round) {
    left<<<4, 256, 0, s1>>>(buffer, kFloats);  // @FIRST
    must(cudaGetLastError());
#if defined(FIXED)
    must(cudaEventRecord(done, s1));
    must(cudaStreamWaitEvent(s2, done, 0));
#endif
    right<<<4, 256, 0, s2>>>(buffer + kFloats - kShared, kFloats);  // @SECOND
    must(cudaGetLastError());
#if defined(FIXED)
    must(cudaEventRecord(done, s2));
    must(cudaStreamWaitEvent(s1, done, 0));
#endif
  }
  must(cudaDeviceSynchronize());
}
