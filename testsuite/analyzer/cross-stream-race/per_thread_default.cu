// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s -- -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1
// RUN: %check cross-stream-race %s -- -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 -DFIXED
//
// With the per-thread default stream, stream 0 is a stream like others and no barrier for blocking ones.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a;
  cudaStreamCreate(&a);
  produce<<<1, 256>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(cudaStreamPerThread);
#endif
  consume<<<1, 256, 0, a>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
}
