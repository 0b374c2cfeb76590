// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy from device to device returns before it is complete, unless one of the memories was set to wait (R-CPY-08).
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on device memory
// CHECK: Write{{.*}}cuMemsetD32Async
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cuMemcpyDtoD
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan: 1 error
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  CUdeviceptr from, to;
  must(cuMemAlloc(&from, 4096));
  must(cuMemAlloc(&to, 4096));
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
#ifdef FIXED
  const unsigned on = 1;
  must(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, from));
#endif
  must(cuMemcpyDtoD(to, from, 4096));           // @FIRST
  must(cuMemsetD32Async(to, 0, 1024, stream));  // @SECOND
}
