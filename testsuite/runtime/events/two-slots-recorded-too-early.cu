// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A double buffer whose slot may be filled again when the kernel has used it: the event of the slot is recorded before
// that kernel. The other slot's event is recorded behind the kernel, by chance, and has nothing to do with it: the report
// must not send the reader there. Also where other work came first in the stream of the kernels (PREPARED), and
// where there are three slots.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DPREPARED %s -o %t.prepared
// RUN: %racy %t.prepared 2>&1 | %report
// RUN: %build -DSLOTS=3 %s -o %t.three
// RUN: %racy %t.three 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build -DFIXED -DPREPARED -DSLOTS=3 %s -o %t.fixed.three
// RUN: %silent %t.fixed.three
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
// CHECK: No ordering: stream 1 waits for event 2 (op #{{[0-9]+}}), but it was recorded at op #{{[0-9]+}}, BEFORE kernel consume
// CHECK: [[RECORD]]
// CHECK: [[WAIT]]
// CHECK: Fix: move cudaEventRecord ([[RECORD]]) behind kernel consume
// CHECK: cause=event-recorded-too-early
// CHECK-NOT: ERROR: streamsan:
#include "must.h"

#ifndef SLOTS
#define SLOTS 2
#endif

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer[SLOTS];
  must(cudaMallocHost(&host, kBytes));
  cudaStream_t copies, kernels;
  must(cudaStreamCreate(&copies));
  must(cudaStreamCreate(&kernels));
  cudaEvent_t copied[SLOTS], consumed[SLOTS];
  for (int slot = 0; slot < SLOTS; ++slot) {
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
  for (int turn = 0; turn < 3 * SLOTS; ++turn) {
    const int slot = turn % SLOTS;
    must(cudaStreamWaitEvent(copies, consumed[slot]));  // @WAIT
    must(cudaMemcpyAsync(buffer[slot], host, kBytes, cudaMemcpyHostToDevice, copies));  // @WRITE
    must(cudaEventRecord(copied[slot], copies));
    must(cudaStreamWaitEvent(kernels, copied[slot]));
#ifndef FIXED
    must(cudaEventRecord(consumed[slot], kernels));  // @RECORD
#endif
    consume<<<1, 32, 0, kernels>>>(buffer[slot]);  // @READ
    must(cudaGetLastError());
#ifdef FIXED
    must(cudaEventRecord(consumed[slot], kernels));
#endif
  }
}
