// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A launch inside a lambda that captures the streams by reference.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  auto launch = [&](float* where) { produce<<<1, 256, 0, a>>>(where); };
  auto join = [&] { cudaStreamSynchronize(a); };
  launch(data);
#ifdef FIXED
  join();
#endif
  consume<<<1, 256, 0, b>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  join();
}
