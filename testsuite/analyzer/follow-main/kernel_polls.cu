// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel that runs beside another one and waits, while it runs, for the words that this stores behind its results: the order
// is not seen. Without the wait it is a race.
#include <cuda_runtime.h>

constexpr int kChunks = 16, kChunk = 256;

__device__ unsigned load_acquire(const unsigned* word) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__global__ void produce(float* data, unsigned* flags, unsigned epoch) {
  data[blockIdx.x * kChunk + threadIdx.x] = epoch;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch_system(flags + blockIdx.x, epoch);
}

__global__ void consume(const float* data, const unsigned* flags, unsigned epoch, float* sums) {
#ifdef FIXED
  if (threadIdx.x == 0)
    while (load_acquire(flags + blockIdx.x) != epoch) {
    }
  __syncthreads();
#endif
  sums[blockIdx.x * kChunk + threadIdx.x] += data[blockIdx.x * kChunk + threadIdx.x];
}

int main() {
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  float *data, *sums;
  unsigned* flags;
  cudaMalloc(&data, kChunks * kChunk * sizeof(float));
  cudaMalloc(&sums, kChunks * kChunk * sizeof(float));
  cudaMalloc(&flags, kChunks * sizeof(unsigned));
  cudaMemset(flags, 0, kChunks * sizeof(unsigned));
  cudaMemset(sums, 0, kChunks * kChunk * sizeof(float));
  cudaDeviceSynchronize();
  produce<<<kChunks, kChunk, 0, first>>>(data, flags, 1);
  consume<<<kChunks, kChunk, 0, second>>>(data, flags, 1, sums);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'second' may read 'data' while kernel 'produce' on stream 'first' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on stream 'first'
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'first' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'second' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: 'data' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'second' after stream 'first': record an event in stream 'first' after the write and let stream 'second' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaDeviceSynchronize();
  cudaFree(data);
  cudaFree(sums);
  cudaFree(flags);
}
