// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that are waited for and then asked for the time between them are what they should be.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: timing-event: 2 events are created with timing here and used for order only.
// CHECK-NEXT: Evidence: recorded 2400 times, waited for 0 times by streams and 1200 times by the host
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void step(char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaEvent_t events[2];
  for (cudaEvent_t& each : events) must(cudaEventCreate(&each));
  for (int i = 0; i < 1200; ++i) {
    must(cudaEventRecord(events[0], 0));
    step<<<1, 32>>>(buffer);
    must(cudaEventRecord(events[1], 0));
    must(cudaEventSynchronize(events[1]));
#ifdef FIXED
    float milliseconds;
    must(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
#endif
  }
}
