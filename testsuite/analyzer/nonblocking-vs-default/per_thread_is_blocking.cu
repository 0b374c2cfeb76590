// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s -- -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1
//
// The per-thread default stream does wait for the legacy stream, and a non-blocking one for neither.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void ordered(float* data, float* out) {
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
  consume<<<1, 256>>>(data, out);
  cudaStreamSynchronize(cudaStreamPerThread);
}

void unordered(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
  consume<<<1, 256, 0, side>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on non-blocking stream 'side' may read 'data' while kernel 'produce' on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'side' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(side);
}
