// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// cuMemHostAlloc and cuMemcpyDtoHAsync.
#include <cuda.h>

unsigned checksum(CUdeviceptr device, CUstream stream) {
  unsigned* sum = nullptr;
  cuMemHostAlloc(reinterpret_cast<void**>(&sum), sizeof(unsigned), 0);
  cuMemcpyDtoHAsync(sum, device, sizeof(unsigned), stream);
#ifdef FIXED
  cuStreamSynchronize(stream);
#endif
  const unsigned result = *sum;  // FIRES: host-read-before-done
  cuStreamSynchronize(stream);
  cuMemFreeHost(sum);
  return result;
}
