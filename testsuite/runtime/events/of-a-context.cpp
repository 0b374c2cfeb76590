// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuCtxRecordEvent captures all streams of the context (R-EVT-17), cuCtxWaitEvent makes all later work of it wait, that
// of streams made later, too (R-EVT-18). Without the one, or with the other before the event is recorded, the race is
// an error like any other.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DRECORD %s -o %t.record
// RUN: %silent %t.record
// RUN: %build_driver -DWAIT %s -o %t.wait
// RUN: %silent %t.wait
// RUN: %build_driver -DWAIT -DEARLY %s -o %t.early
// RUN: %racy %t.early 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write race on device memory
// CHECK: Write{{.*}}cuMemsetD32Async
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cuMemsetD8Async
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan: 1 error
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  CUcontext context;
  must(cuCtxGetCurrent(&context));
  CUdeviceptr buffer;
  must(cuMemAlloc(&buffer, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  CUevent event;
  must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
#ifdef EARLY
  must(cuEventRecord(event, s1));
  must(cuCtxWaitEvent(context, event));
#endif
  must(cuMemsetD8Async(buffer, 1, 4096, s1));  // @FIRST
#ifdef RECORD
  must(cuCtxRecordEvent(context, event));
#endif
#if defined WAIT && !defined EARLY
  must(cuEventRecord(event, s1));
  must(cuCtxWaitEvent(context, event));
#endif
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
#ifdef RECORD
  must(cuStreamWaitEvent(s2, event, CU_EVENT_WAIT_DEFAULT));
#endif
  must(cuMemsetD32Async(buffer, 0, 1024, s2));  // @SECOND
}
