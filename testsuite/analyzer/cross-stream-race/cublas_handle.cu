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
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);  // FIRES: cross-stream-race
  cudaStreamSynchronize(math);
  cudaStreamSynchronize(upload);
}
