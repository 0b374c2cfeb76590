// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The driver API: cuMemcpyDtoDAsync, cuLaunchKernel's stream, cuEventRecord and cuStreamWaitEvent.
#include <cuda.h>

void copy_twice(CUdeviceptr from, CUdeviceptr through, CUdeviceptr to, size_t bytes) {
  CUstream a, b;
  CUevent done;
  cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);
  cuMemcpyDtoDAsync(through, from, bytes, a);
#ifdef FIXED
  cuEventRecord(done, a);
  cuStreamWaitEvent(b, done, 0);
#endif
  cuMemcpyDtoDAsync(to, through, bytes, b);  // FIRES: cross-stream-race
  cuStreamSynchronize(b);
  cuStreamSynchronize(a);
  cuEventDestroy(done);
  cuStreamDestroy(a);
  cuStreamDestroy(b);
}
