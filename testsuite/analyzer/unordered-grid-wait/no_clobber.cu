// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check unordered-grid-wait %s
// RUN: %check unordered-grid-wait %s -- -DFIXED
//
// The compiler may move reads over a wait that does not say that it touches memory.
#include <cuda_runtime.h>

__device__ inline void wait_for_grid() {
#ifdef FIXED
  asm volatile("griddepcontrol.wait;" ::: "memory");
#else
  asm volatile("griddepcontrol.wait;");
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'griddepcontrol.wait' does not tell the compiler that it touches memory: reads behind it may be moved in front of it [streamsan-unordered-grid-wait]
// CHECK-NOTES: :[[@LINE-2]]:3: note: add a "memory" clobber: asm volatile("griddepcontrol.wait;" ::: "memory")
#endif
}

__global__ void consume(const float* in, float* out) {
  wait_for_grid();
  out[threadIdx.x] = in[threadIdx.x];
}

void run(const float* in, float* out, cudaStream_t stream) { consume<<<1, 256, 0, stream>>>(in, out); }
