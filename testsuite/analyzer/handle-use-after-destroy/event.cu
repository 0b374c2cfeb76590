// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// The event is destroyed before the wait is enqueued.
#include <cuda_runtime.h>

void order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaEventRecord(e, before);
#ifdef FIXED
  cudaStreamWaitEvent(after, e, 0);  // a wait that is enqueued keeps what it needs
  cudaEventDestroy(e);
#else
  cudaEventDestroy(e);
  cudaStreamWaitEvent(after, e, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: event 'e' is used by cudaStreamWaitEvent after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'e' is destroyed here
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'e' is created here
#endif
}
