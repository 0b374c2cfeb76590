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
// Calls that all stand in one function have one place, so there the repair also tells their numbers.
//
// RUN: %build -DWRAPPED %s -o %t.wrapped
// RUN: %racy %t.wrapped 2>&1 | %sites --check-prefix=WRAPPED
// RUN: %build -DWRAPPED -DFIXED %s -o %t.wrapped.fixed
// RUN: %silent %t.wrapped.fixed
//
// WRAPPED: Fix: record an event on stream 1 after cudaMemcpyAsync (host to device) ([[WRAPPED_COPY]]) (op #{{[0-9]+}}) and call
// WRAPPED-SAME: cudaStreamWaitEvent(stream 2, event) before kernel consume(float const*) ([[WRAPPED_KERNEL]]) (op #{{[0-9]+}})
// WRAPPED: The Fix above repairs the next 2 findings, too.
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

void upload(float* buffer, const float* host, cudaStream_t stream) {
  must(cudaMemcpyAsync(buffer, host, 4096, cudaMemcpyHostToDevice, stream));  // @WRAPPED_COPY
}

void work_on(const float* buffer, cudaStream_t stream) {
  consume<<<8, 128, 0, stream>>>(buffer);  // @WRAPPED_KERNEL
}

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
#ifdef WRAPPED
  upload(buffers[0], host, s1);
  upload(buffers[1], host, s1);
  upload(buffers[2], host, s1);
#else
  must(cudaMemcpyAsync(buffers[0], host, 4096, cudaMemcpyHostToDevice, s1));
  must(cudaMemcpyAsync(buffers[1], host, 4096, cudaMemcpyHostToDevice, s1));
  must(cudaMemcpyAsync(buffers[2], host, 4096, cudaMemcpyHostToDevice, s1));  // @LAST_COPY
#endif
#ifdef FIXED
  must(cudaEventRecord(uploaded, s1));
  must(cudaStreamWaitEvent(s2, uploaded));
#endif
#ifdef WRAPPED
  work_on(buffers[0], s2);
  work_on(buffers[1], s2);
  work_on(buffers[2], s2);
#else
  consume<<<8, 128, 0, s2>>>(buffers[0]);  // @FIRST_KERNEL
  consume<<<8, 128, 0, s2>>>(buffers[1]);  // @SECOND_KERNEL
  consume<<<8, 128, 0, s2>>>(buffers[2]);  // @THIRD_KERNEL
#endif
}
