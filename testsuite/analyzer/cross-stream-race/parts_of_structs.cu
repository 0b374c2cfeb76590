// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Offsets of pointers to structs are as long as the struct: 64 particles of 16 bytes end where the next 64 begin.
#include <cuda_runtime.h>

struct Particle {
  float x, y, z, mass;
};

void upload(Particle* device, const Particle* pinned) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  const int first = 64;
#else
  const int first = 63;
#endif
  cudaMemcpyAsync(device, pinned, 64 * sizeof(Particle), cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(device + first, pinned + first, 64 * sizeof(Particle), cudaMemcpyHostToDevice, b);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
