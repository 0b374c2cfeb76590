// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A handle of cuBLAS that the function is given counts once the function has set its stream. Until then it is on the
// default stream, as in HeCBench's bicgstab-cuda, where main() makes the handle and sets none.
#include <cublas_v2.h>
#include <cuda_runtime.h>

struct Context {
  cudaStream_t stream;
};

void set(cublasHandle_t handle, const Context& context, int n, const float* a, const float* b, const float* old, float* c) {
  const float one = 1.0f;
  cublasSetStream(handle, context.stream);
#ifdef FIXED
  cudaMemcpyAsync(c, old, 128, cudaMemcpyDeviceToDevice, context.stream);
#else
  cudaMemcpy(c, old, 128, cudaMemcpyDeviceToDevice);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy (device to device) goes to the default stream, not to the stream of 'handle' as cublasSgemm on the same memory: nothing orders the two if that stream does not wait for the default one [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE+3]]:3: note: cublasSgemm goes to the stream of 'handle'
// CHECK-NOTES: :[[@LINE-3]]:3: note: use the form that takes a stream, and pass the stream of 'handle'
#endif
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &one, c, n);
}

void never_set(cublasHandle_t handle, int n, const float* a, const float* b, const float* old, float* c) {
  const float one = 1.0f;
  cudaMemcpy(c, old, 128, cudaMemcpyDeviceToDevice);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &one, c, n);
}
