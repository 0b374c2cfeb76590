// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Memory of cudaMallocAsync may be used by another stream only after the allocation.
#include <cuda_runtime.h>

__global__ void fill(float* out) { out[threadIdx.x] = 0.0f; }

void scratch(size_t bytes) {
  cudaStream_t a, b;
  cudaEvent_t allocated;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming);
  float* memory = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&memory), bytes, a);
#ifdef FIXED
  cudaEventRecord(allocated, a);
  cudaStreamWaitEvent(b, allocated, 0);
#endif
  fill<<<1, 256, 0, b>>>(memory);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'fill' on stream 'b' may write 'memory' while cudaMallocAsync on stream 'a' still allocates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'memory' is allocated here, on stream 'a'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'memory' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the allocation and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'fill'
  cudaStreamSynchronize(b);
  cudaFreeAsync(memory, a);
  cudaStreamSynchronize(a);
}
