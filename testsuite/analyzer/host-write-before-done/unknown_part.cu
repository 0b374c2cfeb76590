// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
//
// It is not known that the host meets what is being copied: from where its loop starts, whether the first round does
// anything, or which element a variable names. Silent.
#include <cuda_runtime.h>

inline float fresh(int i) { return i * 0.5f; }

float from_somewhere(float* device, float* staging, int n, int from, int to, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  for (int i = from; i < to; ++i) staging[i] = fresh(i);
  cudaStreamSynchronize(stream);
  return total;
}

float under_a_condition(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  for (int i = 0; i < 2 * n; ++i) {
    if (i >= n) staging[i] = fresh(i);
  }
  cudaStreamSynchronize(stream);
  return total;
}

float one_element(float* device, float* staging, int n, int i, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  staging[i] = fresh(i);
  cudaStreamSynchronize(stream);
  return total;
}

float while_loop(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  int i = 0;
  i = n;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  while (i < 2 * n) {
    staging[i] = fresh(i);
    ++i;
  }
  cudaStreamSynchronize(stream);
  return total;
}
