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
  thrust::sort(thrust::cuda::par_nosync.on(second), keys, keys + n);  // FIRES: cross-stream-race
#endif
  cudaStreamSynchronize(first);
  cudaStreamSynchronize(second);
}
