// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s -- -fopenmp
// RUN: %check cross-stream-race %s -- -fopenmp -DFIXED
//
// A parallel region is what one of its threads does.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

void each(float** parts, int count) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i) {
    float* part = parts[i];
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    fill<<<1, 32, 0, a>>>(part);
#ifdef FIXED
    cudaStreamSynchronize(a);
#endif
    use<<<1, 32, 0, b>>>(part);  // FIRES: cross-stream-race
    cudaStreamSynchronize(b);
  }
}
