// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// The clean-up helper frees at once; the launch was two lines above, on another stream.
#include <cuda_runtime.h>

__global__ void use(float* w) { w[threadIdx.x] += 1.0f; }

static void give_back(float* memory, cudaStream_t pool) {
  cudaFreeAsync(memory, pool);  // FIRES: premature-free
}

void run(size_t bytes) {
  cudaStream_t pool, compute;
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  float* w = nullptr;
  cudaMallocAsync(&w, bytes, pool);
  cudaStreamSynchronize(pool);
  use<<<1, 256, 0, compute>>>(w);
#ifdef FIXED
  give_back(w, compute);
#else
  give_back(w, pool);
#endif
  cudaDeviceSynchronize();
}
