// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Each device has its own default stream, and nothing orders two of them. Which device a variable names is not known,
// nor which one a function was entered with.
#include <cuda_runtime.h>

__global__ void produce(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void consume(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

void constants(float* shared, float* out) {
  cudaSetDevice(0);
  produce<<<1, 256>>>(shared);
#ifdef FIXED
  cudaStreamSynchronize(0);
#endif
  cudaSetDevice(1);
  consume<<<1, 256>>>(shared, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on the default stream of device 1 may read 'shared' while kernel 'produce' on the default stream of device 0 still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'shared' is written here, on the default stream of device 0
// CHECK-NOTES: :[[@LINE-3]]:3: note: nothing orders the default stream of device 1 after the default stream of device 0: record an event in the default stream of device 0 after the write and let the default stream of device 1 wait for it with cudaStreamWaitEvent before kernel 'consume'
}

void blocking_stream(float* shared, float* out) {
  cudaStream_t stream;
  cudaSetDevice(0);
  cudaStreamCreate(&stream);
  produce<<<1, 256, 0, stream>>>(shared);
#ifdef FIXED
  cudaDeviceSynchronize();
  cudaSetDevice(1);
#else
  cudaSetDevice(1);
  cudaDeviceSynchronize();
#endif
  consume<<<1, 256>>>(shared, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on the default stream of device 1 may read 'shared' while kernel 'produce' on stream 'stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'shared' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: nothing orders the default stream of device 1 after stream 'stream': record an event in stream 'stream' after the write and let the default stream of device 1 wait for it with cudaStreamWaitEvent before kernel 'consume'
}

void one_device(float* shared, float* out) {
  cudaSetDevice(1);
  produce<<<1, 256>>>(shared);
  cudaSetDevice(0);
  cudaSetDevice(1);
  consume<<<1, 256>>>(shared, out);
}

void variables(float* shared, float* out, int first, int second) {
  cudaSetDevice(first);
  produce<<<1, 256>>>(shared);
  cudaSetDevice(second);
  consume<<<1, 256>>>(shared, out);
}

void entered_with(float* shared, float* out) {
  produce<<<1, 256>>>(shared);
  cudaSetDevice(1);
  consume<<<1, 256>>>(shared, out);
}

// R-CPY-40: it waits for the default streams of both devices, and they wait for it.
void copy_between(float* there, float* here, float* out, size_t n) {
  cudaSetDevice(0);
  produce<<<1, 256>>>(there);
  cudaMemcpyAsync(here, there, n, cudaMemcpyDeviceToDevice, 0);
  cudaSetDevice(1);
  consume<<<1, 256>>>(here, out);
}
