// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// cuMemFreeAsync on another stream.
#include <cuda.h>

void run(CUdeviceptr out, size_t bytes) {
  CUstream a, b;
  CUdeviceptr memory = 0;
  cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
  cuMemAllocAsync(&memory, bytes, a);
  cuStreamSynchronize(a);
  cuMemcpyDtoDAsync(out, memory, bytes, b);
#ifdef FIXED
  cuMemFreeAsync(memory, b);
#else
  cuMemFreeAsync(memory, a);  // FIRES: premature-free
#endif
  cuStreamSynchronize(a);
  cuStreamSynchronize(b);
}
