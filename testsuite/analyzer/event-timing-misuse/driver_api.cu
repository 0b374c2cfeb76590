// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
// RUN: %check event-timing-misuse %s -- -DFIXED
//
// cuEventElapsedTime of an event created without timing.
#include <cuda.h>

float measure(CUdeviceptr x, CUstream s) {
  CUevent begin, end;
  cuEventCreate(&begin, CU_EVENT_DEFAULT);
#ifdef FIXED
  cuEventCreate(&end, CU_EVENT_DEFAULT);
#else
  cuEventCreate(&end, CU_EVENT_DISABLE_TIMING);
#endif
  cuEventRecord(begin, s);
  cuMemsetD32Async(x, 0, 256, s);
  cuEventRecord(end, s);
  cuEventSynchronize(end);
  float ms = 0.0f;
  cuEventElapsedTime(&ms, begin, end);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuEventElapsedTime of event 'end', which was created without timing, fails [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE-9]]:3: note: event 'end' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: create the event without the flag that disables timing
  return ms;
}
