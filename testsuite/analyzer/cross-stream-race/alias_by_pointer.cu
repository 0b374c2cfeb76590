// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The second name of the buffer is a copy of the pointer; the swapped pointers are followed too.
#include <cuda_runtime.h>

#include <utility>

__global__ void smooth(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void jacobi(float* a, float* b, size_t bytes, float* snapshot) {
  cudaStream_t compute, copy;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  float* current = a;
  float* next = b;
  smooth<<<1, 256, 0, compute>>>(current, next);
  std::swap(current, next);
#ifdef FIXED
  cudaMemcpyAsync(snapshot, next, bytes, cudaMemcpyDeviceToDevice, copy);
#else
  cudaMemcpyAsync(snapshot, current, bytes, cudaMemcpyDeviceToDevice, copy);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to device) on stream 'copy' may read 'current' while kernel 'smooth' on stream 'compute' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'current' is written here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'copy' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'copy' after stream 'compute': record an event in stream 'compute' after the write and let stream 'copy' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
#endif
  cudaStreamSynchronize(copy);
  cudaStreamSynchronize(compute);
}
