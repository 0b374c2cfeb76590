// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
//
// The loop's condition needs the result, or the loop measures time, or it joins many streams: silent.
#include <cuda_runtime.h>

__global__ void step(float* x, int* go_on) { *go_on = x[0] < 1.0f; }

void until_converged(float* x, int* d_go_on, cudaStream_t s) {
  int* go_on = nullptr;
  cudaMallocHost(&go_on, sizeof(int));
  do {
    step<<<1, 256, 0, s>>>(x, d_go_on);
    cudaMemcpyAsync(go_on, d_go_on, sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
  } while (*go_on);
  cudaFreeHost(go_on);
}

float slowest(float* x, int* d_go_on, cudaEvent_t begin, cudaEvent_t end, cudaStream_t s) {
  float slowest = 0.0f;
  for (int i = 0; i < 10; ++i) {
    float ms = 0.0f;
    cudaEventRecord(begin, s);
    step<<<1, 256, 0, s>>>(x, d_go_on);
    cudaEventRecord(end, s);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    if (ms > slowest) slowest = ms;
  }
  return slowest;
}
