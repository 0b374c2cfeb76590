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
  cuEventElapsedTime(&ms, begin, end);  // FIRES: event-timing-misuse
  return ms;
}
