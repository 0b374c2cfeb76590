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
  fill<<<1, 256, 0, b>>>(memory);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  cudaFreeAsync(memory, a);
  cudaStreamSynchronize(a);
}
