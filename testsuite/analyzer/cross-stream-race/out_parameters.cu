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
  consume<<<1, 256, 0, context.run>>>(context.buffer, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'context.run' may read 'context.buffer' while cudaMemcpyAsync (host to device) on stream 'context.load' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'context.buffer' is written here, on stream 'context.load'
// CHECK-NOTES: :[[@LINE-17]]:7: note: stream 'context.load' is created here
// CHECK-NOTES: :[[@LINE-9]]:8: note: in the call to 'set_up' here
// CHECK-NOTES: :[[@LINE-18]]:7: note: stream 'context.run' is created here
// CHECK-NOTES: :[[@LINE-18]]:10: note: 'context.buffer' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'context.run' after stream 'context.load': record an event in stream 'context.load' after the write and let stream 'context.run' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(context.run);
  cudaStreamSynchronize(context.load);
}
