// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream-ordered memory is made to be allocated in loops.
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

__global__ void sweep(char*) {}

int main() {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (size_t i = 1; i <= 50; ++i) {
    char* scratch;
#ifdef FIXED
    must(cudaMallocAsync(&scratch, i << 10, stream));
    sweep<<<1, 32, 0, stream>>>(scratch);
    must(cudaFreeAsync(scratch, stream));
#else
    must(cudaMalloc(&scratch, i << 10));
    sweep<<<1, 32, 0, stream>>>(scratch);
    must(cudaStreamSynchronize(stream));
    must(cudaFree(scratch));
#endif
  }
  must(cudaStreamSynchronize(stream));
}
