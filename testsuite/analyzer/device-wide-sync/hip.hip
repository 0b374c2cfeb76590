// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// hipDeviceSynchronize where hipStreamSynchronize would do.
#include <hip/hip_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, hipStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
#ifdef FIXED
  (void)hipStreamSynchronize(stream);
#else
  (void)hipDeviceSynchronize();  // FIRES: device-wide-sync
#endif
}
