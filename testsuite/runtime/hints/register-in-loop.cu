// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory is registered and unregistered around each transfer; its twin does so once.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaHostRegister and cudaHostUnregister are called again and again between kernels: 12 and 12 times.
// CHECK: main{{.*}}[[REGISTER]]
// CHECK: Fix: register the memory before the loop and unregister it after, or copy through a pinned buffer that is kept.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <cstdlib>

#include "must.h"

__global__ void use(const char*) {}

int main() {
  char* device;
  must(cudaMalloc(&device, 1 << 20));
  char* host = static_cast<char*>(aligned_alloc(4096, 1 << 20));
#ifdef FIXED
  must(cudaHostRegister(host, 1 << 20, cudaHostRegisterDefault));
#endif
  for (int i = 0; i < 12; ++i) {
#ifndef FIXED
    must(cudaHostRegister(host, 1 << 20, cudaHostRegisterDefault));  // @REGISTER
#endif
    must(cudaMemcpyAsync(device, host, 1 << 20, cudaMemcpyHostToDevice, 0));
    use<<<1, 32>>>(device);
    must(cudaDeviceSynchronize());
#ifndef FIXED
    must(cudaHostUnregister(host));
#endif
  }
#ifdef FIXED
  must(cudaHostUnregister(host));
#endif
}
