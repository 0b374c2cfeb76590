// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that waits for the event of the turn before: its first wait comes before the first record and binds to nothing
// (R-EVT-03). That is right and common: silent, and a note for those who ask for notes.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: env STREAMSAN_OPTIONS=min_severity=note %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=min_severity=note %silent %t.fixed
//
// CHECK: NOTE: streamsan: event-waited-too-early: stream 1 waits for event 1 before its first record.
// CHECK-NEXT: No ordering: the wait (op #1) does nothing, event 1 is recorded later (op #5). In the first turn of a loop this is common and correct.
// CHECK-NEXT: cudaStreamWaitEvent on stream 1 (blocking), op #1
// CHECK-NEXT: main{{.*}}[[WAIT]]
// CHECK-NEXT: cudaEventRecord on stream 2 (blocking), op #5
// CHECK-NEXT: main{{.*}}[[RECORD]]
// CHECK-NEXT: Fix: if the wait is to cover that record, call cudaEventRecord ([[RECORD]]) before cudaStreamWaitEvent ([[WAIT]]).
// CHECK-NEXT: kind=event-misuse hazard=event-waited-too-early severity=note cause=event-waited-too-early streams=stream-2,stream-1 ops=5,1 count=1
// CHECK-NOT: NOTE:
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t consumed, produced;
  must(cudaEventCreate(&consumed));
  must(cudaEventCreate(&produced));
  for (int turn = 0; turn < 3; ++turn) {
#ifdef FIXED
    if (turn > 0)
#endif
      must(cudaStreamWaitEvent(s1, consumed));  // @WAIT
    produce<<<1, 32, 0, s1>>>(buffer);
    must(cudaEventRecord(produced, s1));
    must(cudaStreamWaitEvent(s2, produced));
    must(cudaEventRecord(consumed, s2));  // @RECORD
  }
  consume<<<1, 32, 0, s2>>>(buffer);
  must(cudaGetLastError());
}
