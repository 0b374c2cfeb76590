// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Function templates and template kernels: instantiations are analysed.
#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T* out, T value) { out[threadIdx.x] = value; }
template <typename T, int Width>
__global__ void shift(const T* in, T* out) { out[threadIdx.x] = in[threadIdx.x + Width]; }

template <typename T>
void apply(T* data, T* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  fill<T><<<1, 256, 0, a>>>(data, T(1));
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  shift<T, 2><<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'shift' on stream 'b' may read 'data' while kernel 'fill' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'shift'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}

template void apply<float>(float*, float*);
