// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event that only makes order, created with timing. With cudaEventDisableTiming it is cheaper.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: timing-event: 2 events are created with timing here and used for order only.
// CHECK-NEXT: Evidence: recorded 2000 times, waited for 2000 times by streams and 0 times by the host; cudaEventElapsedTime was never asked about any of them. Each record writes a time stamp, and a wait for it takes longer.
// CHECK-NEXT: cudaEventCreate
// CHECK-NEXT: main{{.*}}[[CREATE]]
// CHECK-NEXT: cudaEventRecord
// CHECK-NEXT: main{{.*}}[[RECORD]]
// CHECK-NEXT: Fix: create it by cudaEventCreateWithFlags with cudaEventDisableTiming.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffers[2];
  for (char*& each : buffers) must(cudaMalloc(&each, 4096));
  cudaStream_t s1, s2;
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking));
  cudaEvent_t events[2];
  for (cudaEvent_t& each : events) {
#ifdef FIXED
    must(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
#else
    must(cudaEventCreate(&each));  // @CREATE
#endif
  }
  for (int i = 0; i < 2000; ++i) {
    if (i % 2 == 0) must(cudaDeviceSynchronize());
    produce<<<1, 32, 0, s1>>>(buffers[i % 2]);
    must(cudaEventRecord(events[i % 2], s1));  // @RECORD
    must(cudaStreamWaitEvent(s2, events[i % 2]));
    consume<<<1, 32, 0, s2>>>(buffers[i % 2]);
  }
  must(cudaDeviceSynchronize());
}
