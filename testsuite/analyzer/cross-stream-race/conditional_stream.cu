// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The second stream is one of two that differ from the first, whichever it is.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out, bool urgent) {
  cudaStream_t main_stream, high, low;
  cudaStreamCreate(&main_stream);
  cudaStreamCreateWithPriority(&high, cudaStreamDefault, -1);
  cudaStreamCreateWithPriority(&low, cudaStreamDefault, 0);
  produce<<<1, 256, 0, main_stream>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(main_stream);
#endif
  if (urgent) {
    consume<<<1, 256, 0, high>>>(data, out);  // FIRES: cross-stream-race
  } else {
    consume<<<2, 256, 0, low>>>(data, out);  // FIRES: cross-stream-race
  }
  cudaDeviceSynchronize();
}
