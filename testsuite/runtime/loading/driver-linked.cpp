// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver-API program that is linked with libcuda: its calls bind to the preloaded library by symbol.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cuMemsetD32Async{{.*}}(non-blocking)
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cuMemcpyHtoDAsync{{.*}}(blocking)
// CHECK: main{{.*}}[[FIRST]]
// CHECK: allocated by cuMemAlloc
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  void* host;
  must(cuMemHostAlloc(&host, 4096, 0));
  CUdeviceptr buffer;
  must(cuMemAlloc(&buffer, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_DEFAULT));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  CUevent copied;
  must(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
  must(cuMemcpyHtoDAsync(buffer, host, 4096, s1));  // @FIRST
#ifdef FIXED
  must(cuEventRecord(copied, s1));
  must(cuStreamWaitEvent(s2, copied, CU_EVENT_WAIT_DEFAULT));
#endif
  must(cuMemsetD32Async(buffer, 0, 1024, s2));  // @SECOND
}
