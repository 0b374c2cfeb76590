// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check unordered-grid-wait %s
// RUN: %check unordered-grid-wait %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely;latent;maybe
//
// What a kernel does before its wait: only the launches can say whether a kernel in front uses that memory, so it is
// reported as possible. A parameter's own value, locals and shared memory are free.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

struct Arguments {
  const float* in;
  int count;
};

__global__ void consume(Arguments arguments, float* out) {
  __shared__ float kept[256];
  const int count = arguments.count;
  kept[threadIdx.x] = 0;
  WAIT_FIRST;
  const float mine = arguments.in[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: kernel 'consume' reads 'arguments.in' before it waits for the grid in front of it, if a kernel in front writes it [streamsan-unordered-grid-wait]
// CHECK-NOTES: :[[@LINE-2]]:22: note: nothing orders it behind that grid: move it behind the wait, unless no kernel in front writes that memory
  out[threadIdx.x] = 0;
// CHECK-MESSAGES: :[[@LINE-1]]:20: warning: kernel 'consume' writes 'out' before it waits for the grid in front of it, if a kernel in front uses it [streamsan-unordered-grid-wait]
// CHECK-NOTES: :[[@LINE-2]]:20: note: nothing orders it behind that grid: move it behind the wait, unless no kernel in front uses that memory
  cudaGridDependencySynchronize();
  out[threadIdx.x] += mine + kept[0] + count;
}

void run(Arguments arguments, float* out, cudaStream_t stream) { consume<<<1, 256, 0, stream>>>(arguments, out); }
