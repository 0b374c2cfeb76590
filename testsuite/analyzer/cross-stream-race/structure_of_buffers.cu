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
  drift<<<1, 256, 0, b>>>(particles);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'drift' on stream 'b' may read 'particles.velocity' while kernel 'kick' on stream 'a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'particles.velocity' is updated here, on stream 'a'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the update and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'drift'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
