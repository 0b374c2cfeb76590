// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One wait is forgotten, and each of three kernels races with the upload that it needs: one report with one repair, and
// two places. The repair is behind the last upload and in front of the first kernel.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %expect 66 %streamsan run --json=%t.json -- %t
// RUN: %json %t.json | %sites --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race
// CHECK: Read by kernel consume{{.*}}
// CHECK: main{{.*}}[[FIRST_KERNEL]]
// CHECK: Fix: record an event on stream 1 after cudaMemcpyAsync (host to device) ([[LAST_COPY]]) and call
// CHECK-SAME: cudaStreamWaitEvent(stream 2, event) before kernel consume(float const*) ([[FIRST_KERNEL]])
// CHECK: The Fix above repairs the next 2 findings, too.
// CHECK-EMPTY:
// CHECK-NEXT: ERROR: streamsan: read-after-write race
// CHECK-NEXT: Read by kernel consume{{.*}} at {{.*}}[[SECOND_KERNEL]]
// CHECK-NEXT: Previous write by cudaMemcpyAsync (host to device) on stream 1
// CHECK-NEXT: [properties] {{.*}}severity=error
// CHECK-EMPTY:
// CHECK-NEXT: ERROR: streamsan: read-after-write race
// CHECK-NEXT: Read by kernel consume{{.*}} at {{.*}}[[THIRD_KERNEL]]
// CHECK-NOT: Fix:
// CHECK: SUMMARY: streamsan: 3 errors
//
// JSON: findings[0].fingerprint = "[[PRINT:[0-9a-f]+]]"
// JSON: findings[1].group = "[[PRINT]]"
// JSON: findings[2].group = "[[PRINT]]"
#include "must.h"

__global__ void consume(const float*) {}

int main() {
  float* host;
  must(cudaMallocHost(&host, 4096));
  float* buffers[3];
  for (float*& buffer : buffers) must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t uploaded;
  must(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
  must(cudaMemcpyAsync(buffers[0], host, 4096, cudaMemcpyHostToDevice, s1));
  must(cudaMemcpyAsync(buffers[1], host, 4096, cudaMemcpyHostToDevice, s1));
  must(cudaMemcpyAsync(buffers[2], host, 4096, cudaMemcpyHostToDevice, s1));  // @LAST_COPY
#ifdef FIXED
  must(cudaEventRecord(uploaded, s1));
  must(cudaStreamWaitEvent(s2, uploaded));
#endif
  consume<<<8, 128, 0, s2>>>(buffers[0]);  // @FIRST_KERNEL
  consume<<<8, 128, 0, s2>>>(buffers[1]);  // @SECOND_KERNEL
  consume<<<8, 128, 0, s2>>>(buffers[2]);  // @THIRD_KERNEL
}
