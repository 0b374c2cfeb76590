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
    cuMemAlloc(&scratch, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cuMemAlloc of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
    cuMemcpyDtoDAsync(scratch, out, bytes, 0);
#ifndef FIXED
    cuMemFree(scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cuMemFree of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
  }
#ifdef FIXED
  cuMemFree(scratch);
#endif
}
