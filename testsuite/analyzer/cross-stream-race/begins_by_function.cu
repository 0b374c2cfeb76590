// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Where a kernel begins is chosen by a function of its arguments, by the smaller of two numbers, by a constant of a
// template: none surely begins at the pointer. One that is given a limit, or a factor, does.
#include <cuda_runtime.h>

#define ID (blockIdx.x * blockDim.x + threadIdx.x)

__device__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ int index(int first) { return first + ID; }

__global__ void limited(float* data, int n) {
  if (ID < n) data[ID] *= 2;
}
__global__ void scaled(float* data, float by) { data[ID] *= by; }
__global__ void by_function(float* data, int first) { data[index(first)] *= 2; }
__global__ void at_most(float* data, int first, int last) { data[smaller(first + (int)ID, last)] *= 2; }
template <int First>
__global__ void by_constant(float* data) {
  data[First + ID] *= 2;
}

struct Halves {
  Halves(float* host, int n) : n(n) {
    cudaStreamCreateWithFlags(&front, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking);
    cudaMalloc(&data, 2 * n * sizeof(float));
    cudaMemcpyAsync(data, host, n * sizeof(float), cudaMemcpyHostToDevice, front);
    cudaMemcpyAsync(data + n, host + n, n * sizeof(float), cudaMemcpyHostToDevice, back);
  }
  int n;
  float* data;
  cudaStream_t front, back;
};

void first_half(float* host, int n) {
  Halves h(host, n);
#ifdef FIXED
  cudaStreamSynchronize(h.front);
#endif
  limited<<<n / 256, 256, 0, h.back>>>(h.data, n);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'limited' on stream 'h.back' may update 'h.data' while cudaMemcpyAsync (host to device) on stream 'h.front' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-15]]:5: note: 'h.data' is written here, on stream 'h.front'
// CHECK-NOTES: :[[@LINE-7]]:10: note: in the call to 'Halves::Halves' here
// CHECK-NOTES: :[[@LINE-20]]:5: note: stream 'h.front' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:5: note: stream 'h.back' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:5: note: 'h.data' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'h.back' after stream 'h.front': record an event in stream 'h.front' after the write and let stream 'h.back' wait for it with cudaStreamWaitEvent before kernel 'limited'
  cudaDeviceSynchronize();
}

void scaled_half(float* host, int n, float by) {
  Halves h(host, n);
#ifdef FIXED
  cudaStreamSynchronize(h.front);
#endif
  scaled<<<n / 256, 256, 0, h.back>>>(h.data, by);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scaled' on stream 'h.back' may update 'h.data' while cudaMemcpyAsync (host to device) on stream 'h.front' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-31]]:5: note: 'h.data' is written here, on stream 'h.front'
// CHECK-NOTES: :[[@LINE-7]]:10: note: in the call to 'Halves::Halves' here
// CHECK-NOTES: :[[@LINE-36]]:5: note: stream 'h.front' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-36]]:5: note: stream 'h.back' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-36]]:5: note: 'h.data' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'h.back' after stream 'h.front': record an event in stream 'h.front' after the write and let stream 'h.back' wait for it with cudaStreamWaitEvent before kernel 'scaled'
  cudaDeviceSynchronize();
}

void second_half(float* host, int n) {
  Halves h(host, n);
  by_function<<<n / 256, 256, 0, h.back>>>(h.data, n);
  at_most<<<n / 256, 256, 0, h.back>>>(h.data, n, 2 * n - 1);
  by_constant<1 << 20><<<n / 256, 256, 0, h.back>>>(h.data);
  cudaDeviceSynchronize();
}
