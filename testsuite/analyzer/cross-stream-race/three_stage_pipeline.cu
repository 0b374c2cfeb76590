// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Upload, compute and download on three streams with events between them; the second edge is missing.
#include <cuda_runtime.h>

__global__ void transform(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void frame(float* d_in, float* d_out, const float* h_in, float* h_out, size_t bytes) {
  cudaStream_t up, work, down;
  cudaEvent_t uploaded, computed;
  cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&computed, cudaEventDisableTiming);
  cudaMemcpyAsync(d_in, h_in, bytes, cudaMemcpyHostToDevice, up);
  cudaEventRecord(uploaded, up);
  cudaStreamWaitEvent(work, uploaded, 0);
  transform<<<1, 256, 0, work>>>(d_in, d_out);
#ifdef FIXED
  cudaEventRecord(computed, work);
  cudaStreamWaitEvent(down, computed, 0);
#endif
  cudaMemcpyAsync(h_out, d_out, bytes, cudaMemcpyDeviceToHost, down);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'down' may read 'd_out' while kernel 'transform' on stream 'work' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'd_out' is written here, on stream 'work'
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'down' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'down' after stream 'work': record an event in stream 'work' after the write and let stream 'down' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaStreamSynchronize(down);
  cudaDeviceSynchronize();
}
