// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Instances of one template, declared at one place: what one of them does right says nothing of another.
#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T* values) {
  values[threadIdx.x] = 1;
}

template <typename T>
struct Waits {
  static constexpr bool value = true;
};
#ifndef FIXED
template <>
struct Waits<int> {
  static constexpr bool value = false;
};
#endif

template <typename T>
void twice(T* values) {
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  fill<<<1, 32, 0, first>>>(values);
  if constexpr (Waits<T>::value) cudaStreamSynchronize(first);
  fill<<<1, 32, 0, second>>>(values);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'fill' on stream 'second' may write 'values' while kernel 'fill' on stream 'first' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'values' is written here, on stream 'first'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'first' is created here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'second' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'second' after stream 'first': record an event in stream 'first' after the write and let stream 'second' wait for it with cudaStreamWaitEvent before kernel 'fill'
  cudaStreamSynchronize(second);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

template void twice<float>(float*);
template void twice<unsigned>(unsigned*);
template void twice<int>(int*);
