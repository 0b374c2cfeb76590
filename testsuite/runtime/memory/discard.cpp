// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discarding memory counts as a write of it (R-CPY-54), with and without a prefetch behind it.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DPREFETCH %s -o %t.prefetch
// RUN: %racy %t.prefetch 2>&1 | %report --check-prefix=PREFETCH
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build_driver -DPREFETCH -DFIXED %s -o %t.prefetch.fixed
// RUN: %silent %t.prefetch.fixed
//
// CHECK: ERROR: streamsan: write-after-read race on managed memory {{.*}}8192 bytes overlap
// CHECK: Write by cuMemDiscardBatchAsync
// CHECK: main{{.*}}[[DISCARD]]
// CHECK: read by cuMemcpyAsync
// CHECK: SUMMARY: streamsan: 1 error
//
// PREFETCH: Write by cuMemDiscardAndPrefetchBatchAsync
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  CUdeviceptr values, copy;
  must(cuMemAllocManaged(&values, 8192, CU_MEM_ATTACH_GLOBAL));
  must(cuMemAlloc(&copy, 8192));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  must(cuMemcpyAsync(copy, values, 8192, s1));
#ifdef FIXED
  CUevent copied;
  must(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
  must(cuEventRecord(copied, s1));
  must(cuStreamWaitEvent(s2, copied, CU_EVENT_WAIT_DEFAULT));
#endif
  size_t bytes = 8192;
#ifdef PREFETCH
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t first = 0;
  must(cuMemDiscardAndPrefetchBatchAsync(&values, &bytes, 1, &here, &first, 1, 0, s2));
#else
  must(cuMemDiscardBatchAsync(&values, &bytes, 1, 0, s2));  // @DISCARD
#endif
}
