// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// NVIDIA/thrust#664, WS: a refactoring dropped the policy's stream from the launch of for_each.
#include <cuda_runtime.h>

struct Policy {
  cudaStream_t stream_;
  cudaStream_t stream() const { return stream_; }
};

template <typename F>
__global__ void for_each_kernel(int n, F f) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) f(i);
}

template <typename F>
void for_each_n(const Policy& policy, int n, F f) {
  const cudaStream_t stream = policy.stream();
  const int grid = (n + 255) / 256;
#ifdef FIXED
  for_each_kernel<<<grid, 256, 0, stream>>>(n, f);
#else
  (void)stream;
  for_each_kernel<<<grid, 256, 0>>>(n, f);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'for_each_kernel' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
// CHECK-NOTES: :[[@LINE-8]]:31: note: stream 'stream' is created here
#endif
}

struct Clear {
  float* x;
  __device__ void operator()(int i) const { x[i] = 0.0f; }
};

void clear(const Policy& policy, float* x, int n) { for_each_n(policy, n, Clear{x}); }
