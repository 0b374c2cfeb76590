// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait for an event that is never recorded does nothing (R-EVT-04). Here nothing races, as the stream is synchronised
// later; the wait is useless all the same. It is reported once for its place, and can be suppressed by it.
//
// RUN: %build %s -o %t
// RUN: %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// RUN: echo 'event-misuse:^consumer' > %t.supp
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp %silent %t
//
// CHECK: LATENT: streamsan: event-never-recorded: stream 2 waits for event 1, which is never recorded.
// CHECK-NEXT: No ordering: a wait for an event that was never recorded does nothing.
// CHECK-NEXT: cudaStreamWaitEvent on stream 2 (blocking), op #2
// CHECK-NEXT: #0 consumer{{.*}}[[WAIT]]
// CHECK-NEXT: #1 main
// CHECK-NEXT: Fix: call cudaEventRecord(event 1, stream) after the work that stream 2 is to wait for and before cudaStreamWaitEvent ([[WAIT]]), or remove the wait.
// CHECK-NEXT: Seen 2 times
// CHECK-NEXT: kind=event-misuse hazard=event-never-recorded severity=latent cause=event-never-recorded streams=stream-2 ops=2 count=2 fingerprint=
// CHECK-NOT: streamsan: event
// CHECK: SUMMARY: streamsan: 1 latent: event-never-recorded {{.*}}[[WAIT]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

void consumer(cudaStream_t stream, cudaEvent_t produced, const char* buffer) {
  must(cudaStreamWaitEvent(stream, produced));  // @WAIT
  consume<<<1, 32, 0, stream>>>(buffer);
}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  for (int turn = 0; turn < 2; ++turn) {
    cudaEvent_t produced;
    must(cudaEventCreate(&produced));
    produce<<<1, 32, 0, s1>>>(buffer);
#ifdef FIXED
    must(cudaEventRecord(produced, s1));
#else
    must(cudaStreamSynchronize(s1));
#endif
    consumer(s2, produced, buffer);
    must(cudaStreamSynchronize(s2));
    must(cudaEventDestroy(produced));
  }
  must(cudaGetLastError());
}
