// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// votca/xtp#391, HR: the product is copied back asynchronously and used at once.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <vector>

double trace_of_product(cublasHandle_t handle, const double* d_a, const double* d_b, double* d_c, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  const double alpha = 1.0, beta = 0.0;
  cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, d_a, n, d_b, n, &beta, d_c, n);
  std::vector<double> result(n * n);
  cudaMemcpyAsync(result.data(), d_c, n * n * sizeof(double), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  double trace = 0.0;
  for (int i = 0; i < n; ++i) trace += result[i * n + i];
// CHECK-MESSAGES: :[[@LINE-1]]:40: warning: the host may read 'result' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'result' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-11]]:23: note: 'result' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:40: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return trace;
}
