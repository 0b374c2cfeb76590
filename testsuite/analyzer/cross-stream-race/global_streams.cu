// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Streams at namespace scope, created in an initialisation function of the same file.
#include <cuda_runtime.h>

static cudaStream_t g_front, g_back;

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void initialise() {
  cudaStreamCreateWithFlags(&g_front, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&g_back, cudaStreamNonBlocking);
}

void run(float* data, float* out) {
  produce<<<1, 256, 0, g_front>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(g_front);
#endif
  consume<<<1, 256, 0, g_back>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'g_back' may read 'data' while kernel 'produce' on stream 'g_front' still writes it, if 'g_back' and 'g_front' are two streams [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'g_front'
// CHECK-NOTES: :[[@LINE-3]]:3: note: nothing orders stream 'g_back' after stream 'g_front': record an event in stream 'g_front' after the write and let stream 'g_back' wait for it with cudaStreamWaitEvent before kernel 'consume'
}
