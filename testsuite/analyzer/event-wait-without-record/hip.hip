// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// HIP's names in the message.
#include <hip/hip_runtime.h>

void run(float* x, hipStream_t a, hipStream_t b) {
  hipEvent_t ready;
  (void)hipEventCreateWithFlags(&ready, hipEventDisableTiming);
  (void)hipMemsetAsync(x, 0, 1024, a);
#ifdef FIXED
  (void)hipEventRecord(ready, a);
#endif
  (void)hipStreamWaitEvent(b, ready, 0);  // FIRES: event-wait-without-record
  (void)hipEventDestroy(ready);
}
