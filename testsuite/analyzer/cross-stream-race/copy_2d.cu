// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two-dimensional copies touch their memory like plain ones.
#include <cuda_runtime.h>

__global__ void blur(const float* image, float* out) { out[threadIdx.x] = image[threadIdx.x]; }

void run(float* image, size_t pitch, const float* pinned, size_t width, size_t height, float* out) {
  cudaStream_t upload, compute;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaMemcpy2DAsync(image, pitch, pinned, width, width, height, cudaMemcpyHostToDevice, upload);
#ifdef FIXED
  cudaStreamSynchronize(upload);
#endif
  blur<<<16, 256, 0, compute>>>(image, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'blur' on stream 'compute' may read 'image' while cudaMemcpy2DAsync (host to device) on stream 'upload' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'image' is written here, on stream 'upload'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'upload' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'compute' after stream 'upload': record an event in stream 'upload' after the write and let stream 'compute' wait for it with cudaStreamWaitEvent before kernel 'blur'
  cudaStreamSynchronize(compute);
  cudaStreamSynchronize(upload);
}
