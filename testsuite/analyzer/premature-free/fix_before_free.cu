// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --fix
//
// --fix waits for the stream before cudaFree.
#include <cuda_runtime.h>

__global__ void use(float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

void run(float* out, size_t bytes, cudaStream_t stream) {
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, stream);
  use<<<1, 256, 0, stream>>>(scratch, out);
  cudaFree(scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'scratch' is freed by cudaFree while kernel 'use' on stream 'stream' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'scratch' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'scratch' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before it is freed
}
// CHECK-FIXES: use<<<1, 256, 0, stream>>>(scratch, out);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: cudaFree(scratch);
