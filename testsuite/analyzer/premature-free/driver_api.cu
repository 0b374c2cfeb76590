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
  cuMemFreeAsync(memory, a);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'memory' is freed by cuMemFreeAsync on stream 'a' while cuMemcpyDtoDAsync (device to device) on stream 'b' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'memory' is read here, on stream 'b'
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'memory' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: free it on stream 'b', or let stream 'a' wait for it first: record an event in stream 'b' after the read and use cuStreamWaitEvent
#endif
  cuStreamSynchronize(a);
  cuStreamSynchronize(b);
}
