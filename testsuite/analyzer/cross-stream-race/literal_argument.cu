// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// What a literal argument decides in a callee is decided.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

static void launch(float* p, cudaStream_t s, bool wait) {
  fill<<<1, 32, 0, s>>>(p);
  if (wait) cudaStreamSynchronize(s);
}

void run(float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  launch(p, a, true);
#else
  launch(p, a, false);
#endif
  use<<<1, 32, 0, b>>>(p);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}
