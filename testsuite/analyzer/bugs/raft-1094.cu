// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// NVIDIA/raft#1094, WS: the scan of the weights was called without the handle's stream.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void weigh(const float* in, float* weights) { weights[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x]; }
__global__ void pick(const float* sums, int* out) { out[threadIdx.x] = sums[threadIdx.x] > 0.5f; }

void discrete(const float* in, float* weights, float* sums, int* out, void* temporary, size_t bytes, int n,
              cudaStream_t stream) {
  weigh<<<1, 256, 0, stream>>>(in, weights);
#ifdef FIXED
  cub::DeviceScan::InclusiveSum(temporary, bytes, weights, sums, n, stream);
#else
  cub::DeviceScan::InclusiveSum(temporary, bytes, weights, sums, n);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cub::DeviceScan::InclusiveSum goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
  pick<<<1, 256, 0, stream>>>(sums, out);
}
