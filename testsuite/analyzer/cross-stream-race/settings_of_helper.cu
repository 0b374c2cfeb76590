// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A function that only fills an object: what is set again on all paths is known; on one path, it is not.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

struct Target {
  int blocks;
  cudaStream_t stream;
};

Target target_on(cudaStream_t stream, int elements) {
  Target result = {};
  if (elements > 256) result.blocks = elements / 256;
#ifdef FIXED
  if (elements > 256) result.stream = stream;
#else
  result.stream = stream;
#endif
  return result;
}

void run(float* data, float* out, int n) {
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  const Target here = target_on(first, n), there = target_on(second, n);
  produce<<<1, 256, 0, here.stream>>>(data);
  consume<<<1, 256, 0, there.stream>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'there.stream' may read 'data' while kernel 'produce' on stream 'here.stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on stream 'here.stream'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'here.stream' is created here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'there.stream' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'there.stream' after stream 'here.stream': record an event in stream 'here.stream' after the write and let stream 'there.stream' wait for it with cudaStreamWaitEvent before kernel 'consume'
}
