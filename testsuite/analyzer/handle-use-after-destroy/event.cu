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
  cudaStreamWaitEvent(after, e, 0);  // FIRES: handle-use-after-destroy
#endif
}
