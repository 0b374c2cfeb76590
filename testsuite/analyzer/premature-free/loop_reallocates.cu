// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// A growing scratch buffer is freed for a bigger one while the last step's kernel may use it.
#include <cuda_runtime.h>

__global__ void use(float* scratch, int n) { if (threadIdx.x < n) scratch[threadIdx.x] = n; }

void steps(const int* sizes, int count, cudaStream_t stream) {
  float* scratch = nullptr;
  int capacity = 0;
  for (int i = 0; i < count; ++i) {
    if (sizes[i] > capacity) {
#ifdef FIXED
      cudaStreamSynchronize(stream);
#endif
      cudaFree(scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: 'scratch' is freed by cudaFree while kernel 'use' on stream 'stream', in an earlier iteration, still writes it; only undocumented behaviour of today's driver prevents it (R-ALC-02) [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'scratch' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:7: note: 'scratch' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:7: note: wait for stream 'stream' with cudaStreamSynchronize before it is freed
      capacity = sizes[i];
      cudaMalloc(&scratch, capacity * sizeof(float));
    }
    use<<<1, 256, 0, stream>>>(scratch, capacity);
  }
  cudaStreamSynchronize(stream);
  cudaFree(scratch);
}
