// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A Thrust algorithm that does not block, on another stream than the kernel that fills its input.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

__global__ void keys_of(const int* rows, int* keys) { keys[threadIdx.x] = rows[threadIdx.x]; }

void order_rows(const int* rows, int* keys, int n) {
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  keys_of<<<1, 256, 0, first>>>(rows, keys);
#ifdef FIXED
  thrust::sort(thrust::cuda::par_nosync.on(first), keys, keys + n);
#else
  thrust::sort(thrust::cuda::par_nosync.on(second), keys, keys + n);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: thrust::sort on stream 'second' may update 'keys' while kernel 'keys_of' on stream 'first' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'keys' is written here, on stream 'first'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'first' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'second' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'second' after stream 'first': record an event in stream 'first' after the write and let stream 'second' wait for it with cudaStreamWaitEvent before thrust::sort
#endif
  cudaStreamSynchronize(first);
  cudaStreamSynchronize(second);
}
