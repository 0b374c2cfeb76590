// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
//
// Waited for by event, stream or device, or polled: silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float by_device(float* x, cudaEvent_t begin, cudaEvent_t end) {
  cudaEventRecord(begin, 0);
  work<<<1, 256>>>(x);
  cudaEventRecord(end, 0);
  cudaDeviceSynchronize();
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
  return ms;
}

float polled(float* x, cudaStream_t s) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreateWithFlags(&end, cudaEventBlockingSync);
  cudaEventRecord(begin, s);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(end, s);
  while (cudaEventQuery(end) != cudaSuccess) {
  }
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
  return ms;
}

float by_copy(float* x, float* h) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  work<<<1, 256>>>(x);
  cudaEventRecord(end);
  cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
  return ms;
}
