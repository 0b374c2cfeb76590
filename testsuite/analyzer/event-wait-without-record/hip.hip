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
  (void)hipStreamWaitEvent(b, ready, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: stream 'b' waits for event 'ready', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-7]]:9: note: event 'ready' is created here
// CHECK-NOTES: :[[@LINE-3]]:9: note: record event 'ready' with hipEventRecord before the wait
  (void)hipEventDestroy(ready);
}
