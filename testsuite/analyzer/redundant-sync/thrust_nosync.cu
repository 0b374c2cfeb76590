// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// par_nosync does not wait, and what a library waits for otherwise is its own affair: the first wait is needed.
#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

struct Pool {
  char* allocate(size_t bytes);
  void deallocate(char* block, size_t bytes);
};

void rank(int* keys, int n, cudaStream_t s, Pool& pool) {
  thrust::sort(thrust::cuda::par_nosync.on(s), keys, keys + n);
  cudaStreamSynchronize(s);
  auto policy = thrust::cuda::par_nosync.on(s);
  thrust::sort(policy, keys, keys + n);
  cudaStreamSynchronize(s);
  thrust::sort(thrust::cuda::par_nosync(pool).on(s), keys, keys + n);
  cudaStreamSynchronize(s);
  thrust::sort(thrust::cuda::par_nosync(pool), keys, keys + n);
  cudaStreamSynchronize(0);
  thrust::sort(thrust::cuda::par(pool).on(s), keys, keys + n);
  cudaStreamSynchronize(s);
#ifndef FIXED
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize on stream 's' is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-4]]:3: note: cudaStreamSynchronize has waited for the same work here
#endif
}
