// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
//
// A loop that synchronises each stream of an array once is a join, not a stall: silent.
#include <cuda_runtime.h>

#include <vector>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(std::vector<cudaStream_t>& streams, float* const* parts) {
  for (size_t i = 0; i < streams.size(); ++i) work<<<1, 256, 0, streams[i]>>>(parts[i]);
  for (size_t i = 0; i < streams.size(); ++i) cudaStreamSynchronize(streams[i]);
  for (cudaStream_t s : streams) cudaStreamSynchronize(s);
}
