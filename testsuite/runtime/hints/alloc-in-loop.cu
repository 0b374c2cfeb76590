// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scratch memory is allocated and freed in every turn; its twin does so once.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaMalloc and cudaFree are called again and again between kernels: 20 and 20 times.
// CHECK-NEXT: Evidence: 19 of 20 calls of cudaMalloc come after the end of what an earlier one made, with 19 kernels in between in all, for 1 MiB each time. {{.*}}Both may synchronise the device.
// CHECK-NEXT: cudaMalloc
// CHECK-NEXT: main{{.*}}[[ALLOC]]
// CHECK-NEXT: cudaFree
// CHECK-NEXT: main{{.*}}[[FREE]]
// CHECK-NEXT: Fix: allocate before the loop and free after it, or use stream-ordered memory (cudaMallocAsync).
// CHECK-NEXT: kind=hint hazard=alloc-in-loop severity=note cause=alloc-in-loop count=1
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void sweep(char*) {}

int main() {
  constexpr size_t kBytes = 1 << 20;
  char* scratch = nullptr;
#ifdef FIXED
  must(cudaMalloc(&scratch, kBytes));
#endif
  for (int i = 0; i < 20; ++i) {
#ifndef FIXED
    must(cudaMalloc(&scratch, kBytes));  // @ALLOC
#endif
    sweep<<<1, 32>>>(scratch);
    must(cudaDeviceSynchronize());
#ifndef FIXED
    must(cudaFree(scratch));  // @FREE
#endif
  }
#ifdef FIXED
  must(cudaFree(scratch));
#endif
}
