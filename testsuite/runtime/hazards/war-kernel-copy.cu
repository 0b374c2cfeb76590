// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next input is copied over the one a kernel still reads.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[WRITE]]
// CHECK: read{{.*}}consume(float const*)
// CHECK: main{{.*}}[[READ]]
// CHECK: cause=event-not-waited-for
#include "must.h"

__global__ void consume(const float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t copy, work;
  must(cudaStreamCreate(&copy));
  must(cudaStreamCreate(&work));
  cudaEvent_t copied, consumed;
  must(cudaEventCreate(&copied));
  must(cudaEventCreate(&consumed));

  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, copy));
  must(cudaEventRecord(copied, copy));
  must(cudaStreamWaitEvent(work, copied));
  consume<<<1, 32, 0, work>>>(buffer);  // @READ
  must(cudaEventRecord(consumed, work));
#ifdef FIXED
  must(cudaStreamWaitEvent(copy, consumed));
#endif
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, copy));  // @WRITE
}
