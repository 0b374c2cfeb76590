// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A policy that asks Thrust not to wait: a number that depends on the data can only be returned when the work is over,
// and with it all in front of it in the stream. An algorithm that returns nothing of the kind does not wait.
#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/reduce.h>

struct Iterator {
  using value_type = float;
  float* at;
};
struct Plus {};
struct Halve {};

float mean_of_first(Iterator begin, Iterator end, const float* device, int n, cudaStream_t s) {
  float* first;
  cudaMallocHost(reinterpret_cast<void**>(&first), sizeof(float));
  cudaMemcpyAsync(first, device, sizeof(float), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  const float sum = thrust::reduce(thrust::cuda::par_nosync.on(s), begin, end, 0.0F, Plus{});
#else
  const float sum = 0.0F;
  thrust::for_each(thrust::cuda::par_nosync.on(s), begin, end, Halve{});
#endif
  const float result = sum / n + *first;
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:34: warning: the host may read 'first' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
#endif
  cudaStreamSynchronize(s);
  cudaFreeHost(first);
  return result;
}
