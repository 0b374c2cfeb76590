// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Zero-copy: the kernel writes mapped pinned memory that the host reads at once.
#include <cuda_runtime.h>

__global__ void flag_errors(const float* x, int* errors) { if (x[threadIdx.x] < 0.0f) errors[0] = 1; }

bool bad(const float* x, cudaStream_t stream) {
  int* errors = nullptr;
  cudaHostAlloc(reinterpret_cast<void**>(&errors), sizeof(int), cudaHostAllocMapped);
  errors[0] = 0;
  flag_errors<<<1, 256, 0, stream>>>(x, errors);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const bool found = errors[0] != 0;  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  cudaFreeHost(errors);
  return found;
}
