// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A managed variable is read by the host while the kernel that counts in it may still run. One that no kernel names is
// the host's alone. (Clang drops the word `__managed__`, but host code can name no other variables of the device.)
#include <cuda_runtime.h>

__device__ int found;
__device__ int asked;

__global__ void count(const float* x, float limit) {
  if (x[threadIdx.x] > limit) atomicAdd(&found, 1);
}

int above(const float* x, float limit) {
  count<<<1, 256>>>(x, limit);
  asked = asked + 1;
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  return found;
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'found' while kernel 'count' on the default stream still atomically updates it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'found' is atomically updated here, on the default stream
// CHECK-NOTES: :[[@LINE-3]]:10: note: wait for the default stream with cudaStreamSynchronize before the read
#ifndef FIXED
#endif
}
