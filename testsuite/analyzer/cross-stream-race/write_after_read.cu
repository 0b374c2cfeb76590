// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The write-after-read direction: the upload of the next batch overwrites what the kernel still reads.
#include <cuda_runtime.h>

__global__ void infer(const float* batch, float* scores) { scores[threadIdx.x] = batch[threadIdx.x]; }

void next_batch(float* d_batch, float* d_scores, const float* h_next, size_t bytes) {
  cudaStream_t compute, upload;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  infer<<<8, 128, 0, compute>>>(d_batch, d_scores);
#ifdef FIXED
  cudaStreamSynchronize(compute);
#endif
  cudaMemcpyAsync(d_batch, h_next, bytes, cudaMemcpyHostToDevice, upload);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'upload' may write 'd_batch' while kernel 'infer' on stream 'compute' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'd_batch' is read here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'upload' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'upload' after stream 'compute': record an event in stream 'compute' after the read and let stream 'upload' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
  cudaStreamSynchronize(upload);
  cudaStreamSynchronize(compute);
  cudaStreamDestroy(compute);
  cudaStreamDestroy(upload);
}
