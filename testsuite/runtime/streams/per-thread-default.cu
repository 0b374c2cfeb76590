// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built with --default-stream per-thread, `<<<...>>>` without a stream means the thread's own stream, and memsets and
// copies without one too. It is not the legacy stream: a non-blocking stream needs an event, and so does a blocking
// one.
//
// RUN: %build_ptds %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_ptds -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build %s -o %t.legacy
// RUN: %silent %t.legacy
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}per-thread
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}(blocking)
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  produce<<<1, 32, 0, stream>>>(buffer);  // @WRITE
#ifdef FIXED
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  must(cudaEventRecord(event, stream));
  must(cudaStreamWaitEvent(0, event));
#endif
  consume<<<1, 32>>>(buffer);  // @READ
  must(cudaGetLastError());
}
