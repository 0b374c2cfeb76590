// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an earlier run has measured makes no verdict weaker. The repaired program runs first, so its kernels are known
// from then on. Then the same kernels run without the event between them: their bytes are only learned, so the judge
// asks for them, and the next launches make the error certain. In the third run they are measured from the start,
// because they were in a conflict. The repaired program is silent all the time.
//
// RUN: %build %s -o %t
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: rm -rf %t.cache
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=COLD --implicit-check-not=ERROR
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t.fixed 2>&1 \
// RUN:   | %filecheck %s --check-prefix=WARM --implicit-check-not=ERROR
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=CHECK,ASKED
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-cache=%t.cache -v 1 -- %t measured 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=CHECK,AGAIN
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -- %t.fixed 2>&1 | %filecheck %s --check-prefix=NOTHING --allow-empty
//
// Nor if the same launches touch other bytes this time, because other data lead them there.
// RUN: rm -rf %t.data
// RUN: %measured APART %expect 0 %streamsan run --footprint-cache=%t.data -- %t measured 2>&1 | %filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: %measured SCRIPT %expect 66 %streamsan run --footprint-cache=%t.data -- %t measured 2>&1 | %filecheck %s
// REQUIRES: nulldriver
//
// APART: left write #0 4080
// APART: right write #0 4096
// SCRIPT: left write #0 4096
// SCRIPT: right write #0 4096
//
// COLD: footprints of kernels measured: 4 launches in
// WARM: footprints of kernels measured: 2 launches in {{.*}}, 2 known from earlier runs
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[16 bytes overlap]
// ASKED: launches in {{.*}}, 1 known from earlier runs
// AGAIN: footprints of kernels measured: {{[1-9][0-9]*}} launches in {{[0-9.]*}} s, 1 distinct
//
// NOTHING-NOT: {{.}}
#include "asked.h"
#include "must.h"

__global__ void left(float* buffer) { buffer[threadIdx.x] = 1; }
__global__ void right(float* buffer) { buffer[threadIdx.x] = 1; }

int main(int argc, char**) {
  [[maybe_unused]] const bool asks = argc == 1;
  constexpr int kFloats = 1024, kShared = 4, kRounds = 8;
  float* buffer;
  must(cudaMalloc(&buffer, 2 * kFloats * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t done;
  must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int round = 0; round < kRounds; ++round) {
    left<<<1, kFloats, 0, s1>>>(buffer);
    must(cudaGetLastError());
#ifdef FIXED
    must(cudaEventRecord(done, s1));
    must(cudaStreamWaitEvent(s2, done, 0));
#endif
    right<<<1, kFloats, 0, s2>>>(buffer + kFloats - kShared);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
#ifndef FIXED
    if (round == 0 && asks) until_asked(2);
#endif
  }
}
