// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many events, each created, used and destroyed, share few handles. Every wait must bind to its own event: one thousand
// correct hand-overs are silent.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DSKIP_ONE %s -o %t.skip
// RUN: %racy %t.skip 2>&1 | %report
//
// CHECK: ERROR: streamsan:
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
  for (int i = 0; i < 1000; ++i) {
    cudaEvent_t there, back;
    must(cudaEventCreate(&there));
    must(cudaEventCreate(&back));
    produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
#ifdef SKIP_ONE
    if (i != 500)
#endif
      must(cudaEventRecord(there, s1));
    must(cudaStreamWaitEvent(s2, there));
    consume<<<1, 32, 0, s2>>>(buffer);  // @READ
    must(cudaEventRecord(back, s2));
    must(cudaStreamWaitEvent(s1, back));
    must(cudaEventDestroy(there));
    must(cudaEventDestroy(back));
  }
  must(cudaGetLastError());
}
