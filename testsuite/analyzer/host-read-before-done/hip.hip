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
  const int value = host[0];  // FIRES: host-read-before-done
  (void)hipStreamSynchronize(stream);
  (void)hipHostFree(host);
  return value;
}
