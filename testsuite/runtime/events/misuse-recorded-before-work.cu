// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event is recorded when its stream is still empty, and covers nothing (R-EVT-01). The host waits for it, and then
// for the stream itself, so nothing races: a note.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: env STREAMSAN_OPTIONS=min_severity=note %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=min_severity=note %silent %t.fixed
//
// CHECK: NOTE: streamsan: event-recorded-too-early: event 1 is recorded in stream 1 before any work is in it.
// CHECK-NEXT: No ordering: stream 1 was empty when event 1 was recorded (op #1) and was given work before the host waits: the wait covers none of it.
// CHECK-NEXT: {{^}}    cudaEventSynchronize{{$}}
// CHECK-NEXT: main{{.*}}[[WAIT]]
// CHECK-NEXT: cudaEventRecord on stream 1 (blocking), op #1
// CHECK-NEXT: main{{.*}}[[RECORD]]
// CHECK-NEXT: Fix: move cudaEventRecord ([[RECORD]]) behind the work in stream 1 that the host is to wait for.
// CHECK-NEXT: hazard=event-recorded-too-early severity=note cause=event-recorded-too-early streams=stream-1,host ops=1,0
// CHECK-NOT: NOTE:
#include "must.h"

__global__ void produce(char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  cudaEvent_t done;
  must(cudaEventCreate(&done));
#ifndef FIXED
  must(cudaEventRecord(done, stream));  // @RECORD
#endif
  produce<<<1, 32, 0, stream>>>(buffer);
#ifdef FIXED
  must(cudaEventRecord(done, stream));
#endif
  must(cudaEventSynchronize(done));  // @WAIT
  must(cudaStreamSynchronize(stream));
  must(cudaGetLastError());
}
