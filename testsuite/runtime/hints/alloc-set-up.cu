// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A set-up allocates many buffers and runs a kernel on each; they are freed at the end. Nothing is allocated twice.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaMalloc and cudaFree
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <vector>

#include "must.h"

__global__ void clear(char*) {}

int main() {
  std::vector<char*> buffers;
  for (int i = 0; i < 50; ++i) {
    char* buffer;
    must(cudaMalloc(&buffer, 4096));
    clear<<<1, 32>>>(buffer);
#ifdef FIXED
    buffers.push_back(buffer);
#else
    must(cudaDeviceSynchronize());
    must(cudaFree(buffer));
#endif
  }
  must(cudaDeviceSynchronize());
  for (char* buffer : buffers) must(cudaFree(buffer));
}
