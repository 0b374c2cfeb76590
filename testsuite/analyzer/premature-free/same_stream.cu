// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
//
// Freed on the stream that used it, or behind an edge: silent.
#include <cuda_runtime.h>

__global__ void use(float* scratch) { scratch[threadIdx.x] = 0.0f; }

void same(size_t bytes, cudaStream_t s) {
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, s);
  use<<<1, 256, 0, s>>>(scratch);
  cudaFreeAsync(scratch, s);
}

void joined(size_t bytes) {
  cudaStream_t a, b;
  cudaEvent_t e;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, a);
  cudaEventRecord(e, a);
  cudaStreamWaitEvent(b, e, 0);
  use<<<1, 256, 0, b>>>(scratch);
  cudaEventRecord(e, b);
  cudaStreamWaitEvent(a, e, 0);
  cudaFreeAsync(scratch, a);
  cudaStreamSynchronize(a);
}
