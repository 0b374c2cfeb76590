// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels are given the same pointer; one takes it as const and so reads what the other may write.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume(float const*){{.*}}(blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce(float*){{.*}}(blocking)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=no-edge
#include "must.h"

__global__ void produce(float*) {}
__global__ void consume(const float*) {}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t produced;
  must(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));

  produce<<<8, 128, 0, s1>>>(buffer);  // @WRITE
#ifdef FIXED
  must(cudaEventRecord(produced, s1));
  must(cudaStreamWaitEvent(s2, produced));
#endif
  consume<<<8, 128, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
