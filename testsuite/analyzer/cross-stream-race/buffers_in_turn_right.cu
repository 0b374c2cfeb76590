// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done,host-read-before-done %s
//
// Buffers in turn, and everything in order: by one stream, by a stream for each buffer, by a wait from the second round
// on, by events that were recorded before the loop. Silent.
#include <cuda_runtime.h>

#include <cstring>
#include <utility>

__global__ void half(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = in[i] * 0.5f;
}

void one_stream(float* x, float* y, int n, int rounds, cudaStream_t s) {
  for (int r = 0; r < rounds; ++r) {
    half<<<1, 256, 0, s>>>(x, y, n);
    std::swap(x, y);
  }
  cudaStreamSynchronize(s);
}

void one_stream_each(const float* h, float* const d[2], float* const o[2], cudaStream_t const s[2], int pieces, int n) {
  for (int i = 0; i < pieces; ++i) {
    const int k = i & 1;
    cudaMemcpyAsync(d[k], h + i * n, n * 4, cudaMemcpyHostToDevice, s[k]);
    half<<<1, 256, 0, s[k]>>>(d[k], o[k], n);
  }
  cudaStreamSynchronize(s[0]);
  cudaStreamSynchronize(s[1]);
}

void from_the_second_round(float* x, float* y, float* norm, int n, int rounds) {
  cudaStream_t work, copy;
  cudaEvent_t computed, copied;
  cudaStreamCreate(&work);
  cudaStreamCreate(&copy);
  cudaEventCreate(&computed);
  cudaEventCreate(&copied);
  for (int r = 0; r < rounds; ++r) {
    if (r > 0) cudaStreamWaitEvent(work, copied, 0);
    half<<<1, 256, 0, work>>>(x, y, n);
    cudaEventRecord(computed, work);
    cudaStreamWaitEvent(copy, computed, 0);
    cudaMemcpyAsync(norm, y, 4, cudaMemcpyDeviceToHost, copy);
    cudaEventRecord(copied, copy);
    std::swap(x, y);
  }
  cudaStreamSynchronize(work);
  cudaStreamSynchronize(copy);
}

void recorded_before(const float* source, float* target, int pieces, int n) {
  float* stage[2];
  cudaEvent_t copied[2];
  cudaStream_t s;
  cudaStreamCreate(&s);
  for (int k = 0; k < 2; ++k) {
    cudaMallocHost(&stage[k], n * 4);
    cudaEventCreate(&copied[k]);
    cudaEventRecord(copied[k], s);
  }
  for (int i = 0, k = 0; i < pieces; ++i, k = 1 - k) {
    cudaEventSynchronize(copied[k]);
    std::memcpy(stage[k], source + i * n, n * 4);
    cudaMemcpyAsync(target + i * n, stage[k], n * 4, cudaMemcpyHostToDevice, s);
    cudaEventRecord(copied[k], s);
  }
  cudaStreamSynchronize(s);
}
