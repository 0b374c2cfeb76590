// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The blocking copy back reads before the kernel on the non-blocking stream has written.
#include <cuda_runtime.h>

__global__ void compute(float* data) { data[threadIdx.x] += 1.0f; }

float result(float* data) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  compute<<<1, 256, 0, side>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(side);
#endif
  float first = 0.0f;
  cudaMemcpy(&first, data, sizeof(first), cudaMemcpyDeviceToHost);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy (device to host) on the default stream may read 'data' while kernel 'compute' on non-blocking stream 'side' still updates it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'data' is updated here, on stream 'side'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for stream 'side', which is non-blocking; record an event in stream 'side' after the update and let the default stream wait for it with cudaStreamWaitEvent before cudaMemcpy (device to host)
  cudaStreamDestroy(side);
  return first;
}
