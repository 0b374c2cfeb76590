// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// cuMemcpyHtoDAsync from a local array.
#include <cuda.h>

void upload(CUdeviceptr device, CUstream stream) {
#ifdef FIXED
  static float* table = nullptr;
  cuMemHostAlloc(reinterpret_cast<void**>(&table), 4 * sizeof(float), 0);
  cuMemcpyHtoDAsync(device, table, 4 * sizeof(float), stream);
#else
  const float table[4] = {1, 2, 3, 4};
  cuMemcpyHtoDAsync(device, table, sizeof(table), stream);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyHtoDAsync (host to device) on stream 'stream' of pageable memory 'table' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-2]]:3: note: use pinned memory, from cuMemAllocHost
#endif
  cuStreamSynchronize(stream);
}
