// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host reads managed memory while the kernel that writes it may still run.
#include <cuda_runtime.h>

__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }

float run() {
  float* x = nullptr;
  cudaMallocManaged(&x, 256 * sizeof(float));
  for (int i = 0; i < 256; ++i) x[i] = i;
  square<<<1, 256>>>(x);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  const float last = x[255];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: the host may read 'x' while kernel 'square' on the default stream still updates it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'x' is updated here, on the default stream
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'x' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:22: note: wait for the default stream with cudaStreamSynchronize before the read
  cudaDeviceSynchronize();
  cudaFree(x);
  return last;
}
