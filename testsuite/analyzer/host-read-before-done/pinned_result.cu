// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A result copied to pinned memory is read before the copy is done.
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

float sum(const float* in, float* d_total) {
  cudaStream_t stream;
  float* total = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&total, sizeof(float));
  reduce<<<1, 256, 0, stream>>>(in, d_total);
  cudaMemcpyAsync(total, d_total, sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float result = *total;  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  cudaFreeHost(total);
  cudaStreamDestroy(stream);
  return result;
}
