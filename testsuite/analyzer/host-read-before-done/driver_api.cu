// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// cuMemHostAlloc and cuMemcpyDtoHAsync.
#include <cuda.h>

unsigned checksum(CUdeviceptr device, CUstream stream) {
  unsigned* sum = nullptr;
  cuMemHostAlloc(reinterpret_cast<void**>(&sum), sizeof(unsigned), 0);
  cuMemcpyDtoHAsync(sum, device, sizeof(unsigned), stream);
#ifdef FIXED
  cuStreamSynchronize(stream);
#endif
  const unsigned result = *sum;
// CHECK-MESSAGES: :[[@LINE-1]]:27: warning: the host may read 'sum' while cuMemcpyDtoHAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'sum' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'sum' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:27: note: wait for stream 'stream' with cuStreamSynchronize before the read
  cuStreamSynchronize(stream);
  cuMemFreeHost(sum);
  return result;
}
