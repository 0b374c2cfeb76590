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
  consume<<<1, 256, 0, a>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'a' may read 'data' while kernel 'produce' on the per-thread default stream still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on the per-thread default stream
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: nothing orders stream 'a' after the per-thread default stream: record an event in the per-thread default stream after the write and let stream 'a' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(a);
}
