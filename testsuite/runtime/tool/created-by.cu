// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A report says where its streams and its event were made: "stream 2" alone would be nobody's. A loop that makes several is
// one place.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DIN_A_LOOP %s -o %t.loop
// RUN: %racy %t.loop 2>&1 | %sites --check-prefix=LOOP
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race
// CHECK: No ordering: stream 2 waits for event 1
// CHECK: stream 1 created by cudaStreamCreateWithFlags
// CHECK-NEXT: main{{.*}}[[WRITER]]
// CHECK-NEXT: stream 2 created by cudaStreamCreateWithFlags
// CHECK-NEXT: main{{.*}}[[READER]]
// CHECK-NEXT: event 1 created by cudaEventCreateWithFlags
// CHECK-NEXT: main{{.*}}[[EVENT]]
// CHECK-NEXT: Fix:
// LOOP: {{stream 1 and stream 2|stream 2 and stream 1}} created by cudaStreamCreateWithFlags
// LOOP-NEXT: main{{.*}}[[BOTH]]
// LOOP-NEXT: event 1 created by
#include "must.h"

int main() {
  char* buffer;
  char* host;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMallocHost(&host, 4096));
  cudaStream_t streams[2];
#ifdef IN_A_LOOP
  for (cudaStream_t& stream : streams) {
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));  // @BOTH
  }
#else
  must(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));  // @WRITER
  must(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));  // @READER
#endif
  cudaEvent_t done;
  must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));  // @EVENT
#ifndef FIXED
  must(cudaMemsetAsync(buffer, 1, 16, streams[0]));
  must(cudaEventRecord(done, streams[0]));
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, streams[0]));
#ifdef FIXED
  must(cudaEventRecord(done, streams[0]));
#endif
  must(cudaStreamWaitEvent(streams[1], done));
  must(cudaMemcpyAsync(host, buffer, 4096, cudaMemcpyDeviceToHost, streams[1]));
}
