// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check unordered-grid-wait %s
//
// The same in code that a compilation for the host does not see, with an empty list of clobbers.
#include <cuda_runtime.h>

__global__ void consume(const float* in, float* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" :::);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'griddepcontrol.wait' does not tell the compiler that it touches memory: reads behind it may be moved in front of it [streamsan-unordered-grid-wait]
// CHECK-NOTES: :[[@LINE-2]]:3: note: add a "memory" clobber: asm volatile("griddepcontrol.wait;" ::: "memory")
#endif
  out[threadIdx.x] = in[threadIdx.x];
}

void run(const float* in, float* out, cudaStream_t stream) { consume<<<1, 256, 0, stream>>>(in, out); }
