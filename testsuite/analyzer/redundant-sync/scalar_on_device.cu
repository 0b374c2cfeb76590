// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// A dot product waits for its result only if the result goes to the host.
#include <cublas_v2.h>
#include <cuda_runtime.h>

void dot(cublasHandle_t blas, int n, const float* x, const float* y, float* result, cudaStream_t s) {
  cublasSetStream(blas, s);
  cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE);
  cublasSdot(blas, n, x, 1, y, 1, result);
  cudaStreamSynchronize(s);
#ifndef FIXED
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize on stream 's' is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-4]]:3: note: cudaStreamSynchronize has waited for the same work here
#endif
}
