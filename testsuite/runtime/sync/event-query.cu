// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A successful query is an edge to the host like a wait (R-EVT-09): caching allocators order everything by it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t consumed;
  must(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
  consume<<<1, 32, 0, s1>>>(buffer);  // @READ
  must(cudaEventRecord(consumed, s1));
#ifdef FIXED
  while (cudaEventQuery(consumed) == cudaErrorNotReady) {
  }
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s2));  // @WRITE
}
