// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaLaunchKernelEx and cudaLaunchKernelExC: the stream stands in a structure.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  must(cudaStreamCreate(&config.stream));
  void* arguments[] = {&buffer};
  must(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(produce), arguments));  // @WRITE
#ifndef FIXED
  must(cudaStreamCreate(&config.stream));
#endif
  must(cudaLaunchKernelEx(&config, consume, static_cast<const char*>(buffer)));  // @READ
}
