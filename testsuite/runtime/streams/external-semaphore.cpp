// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that one process orders by an external semaphore with values: a wait comes after the signal of that value,
// and after nothing else. A value that this process has not signalled is somebody else's, and such a wait counts as one
// for everything. (On a real driver the semaphore would be one of Vulkan's or Direct3D's.)
//
// RUN: %build_driver -DSIGNALLED=1 -DAWAITED=1 %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DSIGNALLED=1 -DAWAITED=2 %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build_driver -DSIGNALLED=3 -DAWAITED=1 %s -o %t.unknown
// RUN: %silent %t.unknown
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
  CUdeviceptr buffer;
  must(cuMemAlloc(&buffer, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  CUexternalSemaphore semaphore;
  must(cuImportExternalSemaphore(&semaphore, &description));
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  signal.params.fence.value = SIGNALLED;
  must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, s1));
  must(cuMemsetD8Async(buffer, 1, 4096, s1));  // @FIRST
  if (SIGNALLED < 2) {
    signal.params.fence.value = 2;
    must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, s1));
  }
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
  wait.params.fence.value = AWAITED;
  must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, s2));
  must(cuMemsetD32Async(buffer, 0, 1024, s2));  // @SECOND
}
