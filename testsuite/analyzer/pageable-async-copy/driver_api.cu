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
  cuMemcpyHtoDAsync(device, table, sizeof(table), stream);  // FIRES: pageable-async-copy
#endif
  cuStreamSynchronize(stream);
}
