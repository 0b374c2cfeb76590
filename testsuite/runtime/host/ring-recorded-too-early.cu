// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ring of two pinned buffers that the host fills again when the upload from it is done: the event of the slot is
// recorded before that upload. The other slot's event is recorded behind it, by chance; the report must not send the reader
// there. Its twins: recorded behind the upload; and with the right record but without the wait (NO_WAIT).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %sites --check-prefixes=CHECK,EARLY
// RUN: %build -DPREPARED %s -o %t.prepared
// RUN: %racy %t.prepared 2>&1 | %sites --check-prefixes=CHECK,EARLY
// RUN: %build -DNO_WAIT %s -o %t.unwaited
// RUN: %racy %t.unwaited 2>&1 | %sites --check-prefixes=CHECK,UNWAITED
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read host race on pinned host memory
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
// EARLY: No ordering: the host waits for event 1, but it was recorded at op #{{[0-9]+}}, BEFORE cudaMemcpyAsync
// EARLY: cudaEventRecord
// EARLY: [[RECORD]]
// EARLY: cudaEventSynchronize
// EARLY: [[WAIT]]
// EARLY: Fix: move cudaEventRecord ([[RECORD]]) behind cudaMemcpyAsync
// EARLY: cause=event-recorded-too-early
// UNWAITED: No ordering: event 1 is recorded (op #{{[0-9]+}}) after cudaMemcpyAsync{{.*}}, but the host does not wait for it
// UNWAITED: cause=event-not-waited-for
// CHECK-NOT: ERROR: streamsan:
#include <cstring>

#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *pinned[2], *device[2];
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  cudaEvent_t sent[2];
  for (int slot = 0; slot < 2; ++slot) {
    must(cudaMallocHost(&pinned[slot], kBytes));
    must(cudaMalloc(&device[slot], kBytes));
    must(cudaEventCreate(&sent[slot]));
#ifdef PREPARED
    must(cudaMemsetAsync(device[slot], 0, kBytes, stream));
#endif
  }
  for (int turn = 0; turn < 4; ++turn) {
    const int slot = turn % 2;
#ifndef NO_WAIT
    must(cudaEventSynchronize(sent[slot]));  // @WAIT
#endif
    std::memset(pinned[slot], turn, kBytes);  // @WRITE
#if !defined(FIXED) && !defined(NO_WAIT)
    must(cudaEventRecord(sent[slot], stream));  // @RECORD
#endif
    must(cudaMemcpyAsync(device[slot], pinned[slot], kBytes, cudaMemcpyHostToDevice, stream));  // @READ
#if defined(FIXED) || defined(NO_WAIT)
    must(cudaEventRecord(sent[slot], stream));
#endif
  }
  must(cudaDeviceSynchronize());
}
