// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A double buffer that is filled one turn ahead. Both events are recorded where they should be, and the copy waits for
// that of the other slot, recorded before the kernel that it must wait for. The report must name the event that should
// have been waited for, and leave the records alone.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DPREPARED %s -o %t.prepared
// RUN: %racy %t.prepared 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
// CHECK: No ordering: event 4 is recorded (op #{{[0-9]+}}) after kernel consume{{.*}}, but stream 1 does not wait for it before
// CHECK: [[RECORD]]
// CHECK: Fix: call cudaStreamWaitEvent(stream 1, event 4) before
// CHECK: cause=event-not-waited-for
// CHECK-NOT: ERROR: streamsan:
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer[2];
  must(cudaMallocHost(&host, kBytes));
  cudaStream_t copies, kernels;
  must(cudaStreamCreate(&copies));
  must(cudaStreamCreate(&kernels));
  cudaEvent_t copied[2], consumed[2];
  for (int slot = 0; slot < 2; ++slot) {
    must(cudaMalloc(&buffer[slot], kBytes));
    must(cudaEventCreate(&copied[slot]));
    must(cudaEventCreate(&consumed[slot]));
#ifdef PREPARED
    must(cudaMemsetAsync(buffer[slot], 0, kBytes, kernels));
#endif
  }
#ifdef PREPARED
  must(cudaStreamSynchronize(kernels));
#endif
  for (int turn = 0; turn < 6; ++turn) {
    const int ahead = (turn + 1) % 2;
#ifdef FIXED
    if (turn > 0) must(cudaStreamWaitEvent(copies, consumed[ahead]));
#else
    if (turn > 0) must(cudaStreamWaitEvent(copies, consumed[turn == 1 ? ahead : turn % 2]));
#endif
    if (turn == 0) {
      must(cudaMemcpyAsync(buffer[0], host, kBytes, cudaMemcpyHostToDevice, copies));
      must(cudaEventRecord(copied[0], copies));
    }
    if (turn > 0 || ahead == 1) {
      must(cudaMemcpyAsync(buffer[ahead], host, kBytes, cudaMemcpyHostToDevice, copies));  // @WRITE
      must(cudaEventRecord(copied[ahead], copies));
    }
    must(cudaStreamWaitEvent(kernels, copied[turn % 2]));
    consume<<<1, 32, 0, kernels>>>(buffer[turn % 2]);  // @READ
    must(cudaGetLastError());
    must(cudaEventRecord(consumed[turn % 2], kernels));  // @RECORD
  }
}
