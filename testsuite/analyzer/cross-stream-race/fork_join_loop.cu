// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Fork over an array of streams and join with one event per stream: correct, silent. Chunks do not overlap.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void work(float* chunk, int n) { if (threadIdx.x < n) chunk[threadIdx.x] += 1.0f; }
__global__ void reduce(const float* data, float* total) { atomicAdd(total, data[threadIdx.x]); }

void fork_join(float* data, float* total, int n) {
  cudaStream_t streams[kStreams], main_stream;
  cudaEvent_t begin, done[kStreams];
  cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
  for (int i = 0; i < kStreams; ++i) {
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
  }
  cudaMemsetAsync(data, 0, sizeof(float) * n * kStreams, main_stream);
  cudaEventRecord(begin, main_stream);
  for (int i = 0; i < kStreams; ++i) {
    cudaStreamWaitEvent(streams[i], begin, 0);
    work<<<1, 256, 0, streams[i]>>>(data + i * n, n);
    cudaEventRecord(done[i], streams[i]);
    cudaStreamWaitEvent(main_stream, done[i], 0);
  }
  reduce<<<1, 256, 0, main_stream>>>(data, total);
  cudaStreamSynchronize(main_stream);
}
