// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event costs little to create: nothing is said of a few thousand.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaEventCreate{{.*}} and cudaEventDestroy are called again and again between kernels: 6000 and 6000 times.
// CHECK: Fix: create the event before the loop and record it again.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void step(char*) {}

#ifdef FIXED
constexpr int kTurns = 4000;
#else
constexpr int kTurns = 6000;
#endif

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < kTurns; ++i) {
    cudaEvent_t done;
    must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    step<<<1, 32>>>(buffer);
    must(cudaEventRecord(done, 0));
    must(cudaEventSynchronize(done));
    must(cudaEventDestroy(done));
  }
}
