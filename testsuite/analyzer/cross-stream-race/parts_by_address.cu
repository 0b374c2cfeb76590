// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// &p[128] is p + 128, of a pointer, of an array and of a row of a matrix.
#include <cuda_runtime.h>

void upload(double* device, const double* pinned) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  constexpr int kFirst = 128;
#else
  constexpr int kFirst = 127;
#endif
  cudaMemcpyAsync(&device[0], &pinned[0], 128 * sizeof(double), cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(&device[kFirst], &pinned[kFirst], 128 * sizeof(double), cudaMemcpyHostToDevice, b);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

void rows(const float* device) {
  static float table[4][32];
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  constexpr size_t kBytes = 2 * sizeof(table[0]);
#else
  constexpr size_t kBytes = 3 * sizeof(table[0]);
#endif
  cudaMemcpyAsync(&table[0][0], device, kBytes, cudaMemcpyDeviceToHost, a);
  cudaMemcpyAsync(&table[2][0], device, sizeof(table[0]), cudaMemcpyDeviceToHost, b);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
