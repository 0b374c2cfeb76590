// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One event for two streams: the second record takes the place of the first (R-EVT-03), and the wait covers the second
// stream only. No buffer is shared with the first one, so nothing races: a note.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: env STREAMSAN_OPTIONS=min_severity=note %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=min_severity=note %silent %t.fixed
//
// CHECK: NOTE: streamsan: event-record-lost: event 1 is recorded in stream 1 and then in stream 2, and only then waited for.
// CHECK-NEXT: No ordering: a new record replaces the previous one: stream 3 waits for what stream 2 held (op #4), and not for what stream 1 held (op #2).
// CHECK-NEXT: cudaStreamWaitEvent on stream 3 (blocking), op #5
// CHECK-NEXT: main{{.*}}[[WAIT]]
// CHECK-NEXT: cudaEventRecord on stream 2 (blocking), op #4
// CHECK-NEXT: main{{.*}}[[SECOND]]
// CHECK-NEXT: cudaEventRecord on stream 1 (blocking), op #2
// CHECK-NEXT: main{{.*}}[[FIRST]]
// CHECK-NEXT: Fix: use an event for each stream, or wait for event 1 before cudaEventRecord ([[SECOND]]).
// CHECK-NEXT: hazard=event-record-lost severity=note cause=event-record-lost streams=stream-1,stream-2,stream-3 ops=2,4,5
// CHECK-NOT: NOTE:
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char *a, *b;
  must(cudaMalloc(&a, 4096));
  must(cudaMalloc(&b, 4096));
  cudaStream_t s1, s2, s3;
  for (cudaStream_t* s : {&s1, &s2, &s3}) must(cudaStreamCreate(s));
  cudaEvent_t done;
  must(cudaEventCreate(&done));
  produce<<<1, 32, 0, s1>>>(a);
  must(cudaEventRecord(done, s1));  // @FIRST
#ifdef FIXED
  must(cudaStreamWaitEvent(s3, done));
#endif
  produce<<<1, 32, 0, s2>>>(b);
  must(cudaEventRecord(done, s2));      // @SECOND
  must(cudaStreamWaitEvent(s3, done));  // @WAIT
  consume<<<1, 32, 0, s3>>>(b);
  must(cudaGetLastError());
}
