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
  cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, matrix, n, x, 1, &zero, y, 1);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(stream);
  cudaDeviceSynchronize();
}
