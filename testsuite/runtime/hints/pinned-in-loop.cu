// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pinned memory is allocated and freed for each transfer; its twin keeps the buffer.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaMallocHost and cudaFreeHost are called again and again between kernels: 12 and 12 times.
// CHECK: Both may synchronise the device, and pin or unpin every page.
// CHECK: main{{.*}}[[ALLOC]]
// CHECK: main{{.*}}[[FREE]]
// CHECK-NEXT: Fix: allocate before the loop and free after it, or keep the buffers in a pool.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void use(const char*) {}

int main() {
  char *device, *host = nullptr;
  must(cudaMalloc(&device, 1 << 20));
#ifdef FIXED
  must(cudaMallocHost(&host, 1 << 20));
#endif
  for (int i = 0; i < 12; ++i) {
#ifndef FIXED
    must(cudaMallocHost(&host, 1 << 20));  // @ALLOC
#endif
    must(cudaMemcpyAsync(device, host, 1 << 20, cudaMemcpyHostToDevice, 0));
    use<<<1, 32>>>(device);
    must(cudaDeviceSynchronize());
#ifndef FIXED
    must(cudaFreeHost(host));  // @FREE
#endif
  }
}
