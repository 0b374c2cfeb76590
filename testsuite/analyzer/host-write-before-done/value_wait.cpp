// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The copy waits for a value that is written behind what the host does: the host may fill the source meanwhile.
#include <cuda.h>

void send(CUdeviceptr flag, CUdeviceptr out, CUstream copies, CUstream signals) {
  void* source = nullptr;
  cuMemAllocHost(&source, 4096);
  float* values = static_cast<float*>(source);
#ifdef FIXED
  cuStreamWaitValue32(copies, flag, 1, CU_STREAM_WAIT_VALUE_GEQ);
#endif
  cuMemcpyHtoDAsync(out, values, 4096, copies);
  values[0] = 1.0f;
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: the host may write 'values' while cuMemcpyHtoDAsync (host to device) on stream 'copies' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'values' is read here, on stream 'copies'
// CHECK-NOTES: :[[@LINE+5]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: wait for stream 'copies' with cuStreamSynchronize before the write
#endif
  cuStreamWriteValue32(signals, flag, 1, 0);
  cuStreamSynchronize(copies);
  cuMemFreeHost(source);
}
