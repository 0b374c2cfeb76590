// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Twenty allocations beside thousands of kernels cost nothing; beside sixty they do.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaMalloc and cudaFree
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void step(char*) {}

#ifdef FIXED
constexpr int kKernels = 300;
#else
constexpr int kKernels = 3;
#endif

int main() {
  for (int i = 0; i < 20; ++i) {
    char* buffer;
    must(cudaMalloc(&buffer, 4096));
    for (int k = 0; k < kKernels; ++k) step<<<1, 32>>>(buffer);
    must(cudaDeviceSynchronize());
    must(cudaFree(buffer));
  }
}
