// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Mapped memory has two names: the kernel writes by the device's, the host reads by its own.
#include <cuda_runtime.h>

__global__ void total(const float* x, float* sum) { atomicAdd(sum, x[threadIdx.x]); }

struct Result {
  float* host;
  float* device;
};

Result make() {
  Result result;
  cudaHostAlloc(&result.host, sizeof(float), cudaHostAllocMapped);
  cudaHostGetDevicePointer(&result.device, result.host, 0);
  return result;
}

float sum(const float* x, cudaStream_t stream) {
  Result result = make();
  *result.host = 0;
  total<<<1, 256, 0, stream>>>(x, result.device);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  return *result.host;
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'result.host' while kernel 'total' on stream 'stream' still atomically updates it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'result.host' is atomically updated here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-15]]:3: note: 'result.host' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:19: note: in the call to 'make' here
// CHECK-NOTES: :[[@LINE-5]]:10: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#ifndef FIXED
#endif
}
