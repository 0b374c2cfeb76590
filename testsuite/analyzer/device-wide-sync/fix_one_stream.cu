// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s --fix
//
// --fix narrows the synchronisation to the one stream that has work.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  work<<<4, 256, 0, stream>>>(x);
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only stream 'stream' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-3]]:3: note: kernel 'work' is the last work on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'cudaStreamSynchronize(stream)' waits for the same work
}
// CHECK-FIXES: cudaStreamSynchronize(stream);
