// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A kernel per non-blocking stream, each reading the table that the default stream still fills.
#include <cuda_runtime.h>

#include <vector>

__global__ void build(float* table) { table[threadIdx.x] = threadIdx.x; }
__global__ void look_up(const float* table, float* out) { out[threadIdx.x] = table[threadIdx.x]; }

void run(float* table, float** outputs, int n) {
  std::vector<cudaStream_t> streams(n);
  for (int i = 0; i < n; ++i) cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  build<<<1, 256>>>(table);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  for (int i = 0; i < n; ++i) {
    look_up<<<1, 256, 0, streams[i]>>>(table, outputs[i]);  // FIRES: nonblocking-vs-default
  }
  for (int i = 0; i < n; ++i) cudaStreamSynchronize(streams[i]);
}
