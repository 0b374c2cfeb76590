// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The host fills managed memory for the next step while the kernel still uses it.
#include <cuda_runtime.h>

__global__ void step(const float* forcing, float* state) { state[threadIdx.x] += forcing[threadIdx.x]; }

void simulate(float* state, int steps) {
  float* forcing = nullptr;
  cudaMallocManaged(&forcing, 256 * sizeof(float));
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < 256; ++i) forcing[i] = t + i;
// CHECK-MESSAGES: :[[@LINE-1]]:35: warning: the host may write 'forcing' while kernel 'step' on the default stream, in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+3]]:5: note: 'forcing' is read here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'forcing' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:35: note: wait for the default stream with cudaStreamSynchronize before the write
    step<<<1, 256>>>(forcing, state);
#ifdef FIXED
    cudaDeviceSynchronize();
#endif
  }
  cudaDeviceSynchronize();
  cudaFree(forcing);
}
