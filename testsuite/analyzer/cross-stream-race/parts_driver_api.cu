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
  cuMemcpyHtoDAsync(second, pinned + 128, 128 * sizeof(float), b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyHtoDAsync (host to device) on stream 'b' may write 'second' while cuMemcpyHtoDAsync (host to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'second' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cuStreamWaitEvent before cuMemcpyHtoDAsync (host to device)
  cuStreamSynchronize(a);
  cuStreamSynchronize(b);
}
