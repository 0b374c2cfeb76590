// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
// RUN: %check alloc-in-loop %s -- -DFIXED
//
// cuMemAlloc and cuMemFree in a for loop.
#include <cuda.h>

void run(CUdeviceptr out, int steps, size_t bytes) {
  CUdeviceptr scratch = 0;
#ifdef FIXED
  cuMemAlloc(&scratch, bytes);
#endif
  for (int i = 0; i < steps; ++i) {
#ifndef FIXED
    cuMemAlloc(&scratch, bytes);  // FIRES: alloc-in-loop
#endif
    cuMemcpyDtoDAsync(scratch, out, bytes, 0);
#ifndef FIXED
    cuMemFree(scratch);  // FIRES: alloc-in-loop
#endif
  }
#ifdef FIXED
  cuMemFree(scratch);
#endif
}
