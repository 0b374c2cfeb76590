// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A cuBLAS handle without a stream works on the default stream.
#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void assemble(float* matrix) { matrix[threadIdx.x] = threadIdx.x; }

void product(float* matrix, const float* x, float* y, int n) {
  cublasHandle_t handle;
  cudaStream_t stream;
  cublasCreate(&handle);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const float one = 1.0f, zero = 0.0f;
  assemble<<<1, 256, 0, stream>>>(matrix);
#ifdef FIXED
  cublasSetStream(handle, stream);
#endif
  cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, matrix, n, x, 1, &zero, y, 1);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cublasSgemv on the default stream may read 'matrix' while kernel 'assemble' on non-blocking stream 'stream' still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'matrix' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for stream 'stream', which is non-blocking; record an event in stream 'stream' after the write and let the default stream wait for it with cudaStreamWaitEvent before cublasSgemv
  cudaStreamSynchronize(stream);
  cudaDeviceSynchronize();
}
