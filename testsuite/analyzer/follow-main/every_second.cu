// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel that is given how many elements there are need not touch all: every second one, by its index or by a
// condition. And a thread may end in assembly. A copy of the others does not meet it; one of the same, or of a kernel
// that goes over all, does.
#include <cuda_runtime.h>

__global__ void left(float* sound, int count) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sound[i] = 1;
}

__global__ void left_of_all(float* sound, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && i % 2 == 0) sound[i] = 1;
}

__global__ void both(float* sound, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sound[i] = 1;
}

__device__ void leave() { asm volatile("exit;"); }

__global__ void first_only(float* sound) {
  if (threadIdx.x > 0) leave();
  sound[threadIdx.x] = 1;
}

__global__ void all_go_on(float* sound) {
  if (threadIdx.x > 500) leave();
  sound[threadIdx.x] = 1;
}

int main() {
  float *sound, *right;
  cudaStream_t play, record;
  cudaMalloc(&sound, 2048 * sizeof(float));
  cudaMallocHost(&right, 1024 * sizeof(float));
  cudaStreamCreateWithFlags(&play, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&record, cudaStreamNonBlocking);

  left<<<4, 256, 0, play>>>(sound, 2048);
  cudaMemcpy2DAsync(right, 4, sound + 1, 8, 4, 1024, cudaMemcpyDeviceToHost, record);
  cudaDeviceSynchronize();

  left_of_all<<<8, 256, 0, play>>>(sound, 2048);
  cudaMemcpy2DAsync(right, 4, sound + 1, 8, 4, 1024, cudaMemcpyDeviceToHost, record);
  cudaDeviceSynchronize();

  first_only<<<1, 256, 0, play>>>(sound);
  cudaMemcpyAsync(right, sound + 4, 16, cudaMemcpyDeviceToHost, record);
  cudaDeviceSynchronize();

#ifndef FIXED
  both<<<8, 256, 0, play>>>(sound, 2048);
  cudaMemcpy2DAsync(right, 4, sound + 1, 8, 4, 1024, cudaMemcpyDeviceToHost, record);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy2DAsync on stream 'record' may read 'sound' while kernel 'both' on stream 'play' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'sound' is written here, on stream 'play'
// CHECK-NOTES: :[[@LINE-20]]:3: note: stream 'play' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:3: note: stream 'record' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-24]]:3: note: 'sound' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'record' after stream 'play': record an event in stream 'play' after the write and let stream 'record' wait for it with cudaStreamWaitEvent before cudaMemcpy2DAsync
// CHECK-NOTES: :[[@LINE-7]]:3: note: main() was followed to here, with zeros for what the GPU computes
  cudaDeviceSynchronize();

  all_go_on<<<1, 256, 0, play>>>(sound);
  cudaMemcpyAsync(right, sound, 1024, cudaMemcpyDeviceToHost, record);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'record' may read 'sound' while kernel 'all_go_on' on stream 'play' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'sound' is written here, on stream 'play'
// CHECK-NOTES: :[[@LINE-31]]:3: note: stream 'play' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-31]]:3: note: stream 'record' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-35]]:3: note: 'sound' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'record' after stream 'play': record an event in stream 'play' after the write and let stream 'record' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaDeviceSynchronize();
#endif
  cudaStreamDestroy(play);
  cudaStreamDestroy(record);
  cudaFreeHost(right);
  cudaFree(sound);
}
