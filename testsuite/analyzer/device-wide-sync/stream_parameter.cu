// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// A library function that gets a stream and stops the whole device.
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

void sum(const float* in, float* out, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  reduce<<<1, 256, 0, stream>>>(in, out);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#else
  cudaDeviceSynchronize();  // FIRES: device-wide-sync
#endif
}
