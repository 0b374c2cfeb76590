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
  cuMemcpyDtoDAsync(to, through, bytes, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyDtoDAsync (device to device) on stream 'b' may read 'through' while cuMemcpyDtoDAsync (device to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'through' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cuStreamWaitEvent before cuMemcpyDtoDAsync (device to device)
  cuStreamSynchronize(b);
  cuStreamSynchronize(a);
  cuEventDestroy(done);
  cuStreamDestroy(a);
  cuStreamDestroy(b);
}
