// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// Inside a function template, in a lambda.
#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T* x, T value) { x[threadIdx.x] = value; }

template <typename T>
void reset(T* x, T* y, cudaStream_t stream) {
  fill<T><<<1, 256, 0, stream>>>(x, T(0));
#ifdef FIXED
  fill<T><<<1, 256, 0, stream>>>(y, T(0));
#else
  fill<T><<<1, 256>>>(y, T(0));
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'fill' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}

template void reset<float>(float*, float*, cudaStream_t);
