// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A table on the device, built in one stream and read in two others. Two readers are no race.
#include <cuda_runtime.h>

__device__ float table[256];

__global__ void build(float scale) { table[threadIdx.x] = scale * threadIdx.x; }
__global__ void look_up(const int* index, float* out) { out[threadIdx.x] = table[index[threadIdx.x]]; }

void apply(const int* index, float* left, float* right) {
  cudaStream_t first, second;
  cudaEvent_t built;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&built, cudaEventDisableTiming);
  build<<<1, 256, 0, first>>>(0.5f);
  cudaEventRecord(built, first);
#ifdef FIXED
  cudaStreamWaitEvent(second, built, 0);
#endif
  look_up<<<1, 256, 0, first>>>(index, left);
  look_up<<<1, 256, 0, second>>>(index, right);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: kernel 'look_up' on stream 'second' may read 'table' while kernel 'build' on stream 'first' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'table' is written here, on stream 'first'
// CHECK-NOTES: :[[@LINE-9]]:3: note: event 'built' is recorded here, after the write, but stream 'second' does not wait for it
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'first' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'second' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:3: note: let stream 'second' wait for event 'built' with cudaStreamWaitEvent before kernel 'look_up'
#endif
  cudaDeviceSynchronize();
}
