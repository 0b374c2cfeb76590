// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Handles and buffers come through out parameters of a set-up function.
#include <cuda_runtime.h>

struct Context {
  cudaStream_t load;
  cudaStream_t run;
  float* buffer;
};

static bool set_up(Context* context, size_t bytes) {
  if (cudaStreamCreate(&context->load) != cudaSuccess) return false;
  if (cudaStreamCreate(&context->run) != cudaSuccess) return false;
  return cudaMalloc(reinterpret_cast<void**>(&context->buffer), bytes) == cudaSuccess;
}

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void work(const float* pinned, size_t bytes, float* out) {
  Context context;
  if (!set_up(&context, bytes)) return;
  cudaMemcpyAsync(context.buffer, pinned, bytes, cudaMemcpyHostToDevice, context.load);
#ifdef FIXED
  cudaStreamSynchronize(context.load);
#endif
  consume<<<1, 256, 0, context.run>>>(context.buffer, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(context.run);
  cudaStreamSynchronize(context.load);
}
