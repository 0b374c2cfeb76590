// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuBLAS handle works on the stream it was given; the gemm reads what another stream still uploads.
#include <cublas_v2.h>
#include <cuda_runtime.h>

void multiply(cublasHandle_t handle, float* a, const float* h_a, const float* b, float* c, int n) {
  cudaStream_t upload, math;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&math, cudaStreamNonBlocking);
  const float one = 1.0f, zero = 0.0f;
  cublasSetStream(handle, math);
  cudaMemcpyAsync(a, h_a, sizeof(float) * n * n, cudaMemcpyHostToDevice, upload);
#ifdef FIXED
  cudaStreamSynchronize(upload);
#endif
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cublasSgemm on the stream of 'handle' may read 'a' while cudaMemcpyAsync (host to device) on stream 'upload' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'a' is written here, on stream 'upload'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'upload' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: the stream of 'handle' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders the stream of 'handle' after stream 'upload': record an event in stream 'upload' after the write and let the stream of 'handle' wait for it with cudaStreamWaitEvent before cublasSgemm
  cudaStreamSynchronize(math);
  cudaStreamSynchronize(upload);
}
