// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Destroying an event does not take back a wait that is already enqueued (R-EVT-11). Destroying it before the wait, and
// using a new one, does: the new event has recorded nothing, also when the driver gives it the old handle.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=event-never-recorded
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
  must(cudaEventRecord(event, s1));
#ifdef FIXED
  must(cudaStreamWaitEvent(s2, event));
  must(cudaEventDestroy(event));
#else
  must(cudaEventDestroy(event));
  must(cudaEventCreate(&event));
  must(cudaStreamWaitEvent(s2, event));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
