// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A kernel on another stream after the memory went back.
#include <cuda_runtime.h>

__global__ void first(float* m) { m[threadIdx.x] = 0.0f; }
__global__ void second(const float* m, float* out) { out[threadIdx.x] = m[threadIdx.x]; }

void run(float* out, size_t bytes) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float* memory = nullptr;
  cudaMallocAsync(&memory, bytes, s);
  first<<<1, 256, 0, s>>>(memory);
#ifdef FIXED
  second<<<1, 256, 0, s>>>(memory, out);
  cudaFreeAsync(memory, s);
#else
  cudaFreeAsync(memory, s);
  second<<<1, 256, 0, s>>>(memory, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'second' on stream 's' may read 'memory' after cudaFreeAsync on stream 's' has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'memory' is freed here on stream 's'
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'memory' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: free it after the last use, on stream 's' or on a stream that waits for it
#endif
  cudaStreamSynchronize(s);
}
