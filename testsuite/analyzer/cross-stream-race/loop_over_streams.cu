// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Each iteration has its own stream, but all accumulate into one buffer without atomics.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void accumulate(const float* part, float* total) { total[threadIdx.x] += part[threadIdx.x]; }

void reduce(float* const* parts, float* total) {
  cudaStream_t streams[kStreams];
  for (int i = 0; i < kStreams; ++i) cudaStreamCreate(&streams[i]);
  for (int i = 0; i < kStreams; ++i) {
#ifdef FIXED
    accumulate<<<1, 256, 0, streams[0]>>>(parts[i], total);
#else
    accumulate<<<1, 256, 0, streams[i]>>>(parts[i], total);  // FIRES: cross-stream-race
#endif
  }
  for (int i = 0; i < kStreams; ++i) {
    cudaStreamSynchronize(streams[i]);
    cudaStreamDestroy(streams[i]);
  }
}
