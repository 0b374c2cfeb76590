// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The store is two calls away, in a __device__ function that gets the kernel's pointer.
#include <cuda_runtime.h>

__device__ float square(float x) { return x * x; }
__device__ void store(float* where, float value) { *where = value; }
__global__ void normalise(float* rows, int width) {
  float* row = rows + blockIdx.x * width;
  store(&row[threadIdx.x], square(2.0f));
}
__global__ void sum(const float* rows, float* total) { atomicAdd(total, rows[threadIdx.x]); }

void pipeline(float* rows, float* total, int width) {
  cudaStream_t front, back;
  cudaStreamCreateWithFlags(&front, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking);
  normalise<<<64, 128, 0, front>>>(rows, width);
#ifdef FIXED
  cudaStreamSynchronize(front);
#endif
  sum<<<64, 128, 0, back>>>(rows, total);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sum' on stream 'back' may read 'rows' while kernel 'normalise' on stream 'front' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'rows' is written here, on stream 'front'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'front' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'back' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'back' after stream 'front': record an event in stream 'front' after the write and let stream 'back' wait for it with cudaStreamWaitEvent before kernel 'sum'
  cudaStreamSynchronize(back);
  cudaStreamSynchronize(front);
}
