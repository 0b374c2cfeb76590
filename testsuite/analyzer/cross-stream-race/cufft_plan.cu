// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuFFT plan runs in the stream it was given.
#include <cuda_runtime.h>
#include <cufft.h>

__global__ void window(cufftComplex* x) { x[threadIdx.x].x *= 0.5f; }

void spectrum(cufftHandle plan, cufftComplex* signal, cufftComplex* out) {
  cudaStream_t prepare, transform;
  cudaStreamCreateWithFlags(&prepare, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&transform, cudaStreamNonBlocking);
  window<<<1, 256, 0, prepare>>>(signal);
#ifdef FIXED
  cufftSetStream(plan, prepare);
#else
  cufftSetStream(plan, transform);
#endif
  cufftExecC2C(plan, signal, out, CUFFT_FORWARD);  // FIRES: cross-stream-race
  cudaStreamSynchronize(transform);
  cudaStreamSynchronize(prepare);
}
