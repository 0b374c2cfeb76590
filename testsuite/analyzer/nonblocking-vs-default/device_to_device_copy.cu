// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A cudaMemcpy between device buffers does not even wait for itself.
#include <cuda_runtime.h>

__global__ void update(float* state) { state[threadIdx.x] += 1.0f; }

void checkpoint(float* state, float* saved, size_t bytes) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMemcpy(saved, state, bytes, cudaMemcpyDeviceToDevice);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  update<<<1, 256, 0, side>>>(state);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'update' on non-blocking stream 'side' may update 'state' while cudaMemcpy (device to device) on the default stream still reads it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'state' is read here, on the default stream
// CHECK-NOTES: :[[@LINE-7]]:3: note: cudaMemcpy (device to device) returns when its work may still be running (R-CPY-04)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the read and let stream 'side' wait for it with cudaStreamWaitEvent before kernel 'update'
  cudaStreamSynchronize(side);
}
