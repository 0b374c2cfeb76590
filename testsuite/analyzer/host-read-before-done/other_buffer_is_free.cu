// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
//
// Reading another buffer, and reading after a wait for an event behind the copy, is right: silent.
#include <cuda_runtime.h>

int read(const int* d_a) {
  cudaStream_t stream;
  cudaEvent_t copied;
  int *a = nullptr, *b = nullptr;
  cudaStreamCreate(&stream);
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  cudaMallocHost(&a, sizeof(int));
  cudaMallocHost(&b, sizeof(int));
  *b = 7;
  cudaMemcpyAsync(a, d_a, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaEventRecord(copied, stream);
  const int before = *b;
  cudaEventSynchronize(copied);
  const int after = *a;
  cudaFreeHost(a);
  cudaFreeHost(b);
  return before + after;
}
