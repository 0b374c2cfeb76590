// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The same with HIP's names.
#include <hip/hip_runtime.h>

int result(const int* device, hipStream_t stream) {
  int* host = nullptr;
  (void)hipHostMalloc(reinterpret_cast<void**>(&host), sizeof(int), hipHostMallocDefault);
  (void)hipMemcpyAsync(host, device, sizeof(int), hipMemcpyDeviceToHost, stream);
#ifdef FIXED
  (void)hipStreamSynchronize(stream);
#endif
  const int value = host[0];
// CHECK-MESSAGES: :[[@LINE-1]]:21: warning: the host may read 'host' while hipMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:9: note: 'host' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:9: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:9: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:21: note: wait for stream 'stream' with hipStreamSynchronize before the read
  (void)hipStreamSynchronize(stream);
  (void)hipHostFree(host);
  return value;
}
