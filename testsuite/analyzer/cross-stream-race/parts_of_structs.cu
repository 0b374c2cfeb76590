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
  cudaMemcpyAsync(device + first, pinned + first, 64 * sizeof(Particle), cudaMemcpyHostToDevice, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'b' may write 'device' while cudaMemcpyAsync (host to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'device' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
