// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams made by a helper that returns them.
#include <cuda_runtime.h>

static cudaStream_t make_stream(int priority) {
  cudaStream_t s;
  cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority);
  return s;
}

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t high = make_stream(-1);
  cudaStream_t low = make_stream(0);
  produce<<<1, 256, 0, high>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(high);
#endif
  consume<<<1, 256, 0, low>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(low);
  cudaStreamSynchronize(high);
}
