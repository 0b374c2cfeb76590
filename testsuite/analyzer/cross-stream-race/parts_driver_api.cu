// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A CUdeviceptr counts bytes.
#include <cuda.h>

void upload(CUdeviceptr device, const float* pinned) {
  CUstream a, b;
  cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
#ifdef FIXED
  const CUdeviceptr second = device + 128 * sizeof(float);
#else
  const CUdeviceptr second = device + 128;
#endif
  cuMemcpyHtoDAsync(device, pinned, 128 * sizeof(float), a);
  cuMemcpyHtoDAsync(second, pinned + 128, 128 * sizeof(float), b);  // FIRES: cross-stream-race
  cuStreamSynchronize(a);
  cuStreamSynchronize(b);
}
