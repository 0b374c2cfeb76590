// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Buffers in a struct passed to the kernel by value: the pointers inside are what it uses.
#include <cuda_runtime.h>

struct Particles {
  float* position;
  float* velocity;
};

__global__ void kick(Particles p) { p.velocity[threadIdx.x] += 1.0f; }
__global__ void drift(Particles p) { p.position[threadIdx.x] += p.velocity[threadIdx.x]; }

void leapfrog(Particles particles) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  kick<<<1, 256, 0, a>>>(particles);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  drift<<<1, 256, 0, b>>>(particles);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
