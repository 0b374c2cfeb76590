// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFree of memory from cudaMallocAsync does not even wait today (R-ALC-03): an error.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: {{.*}}free
// CHECK: main{{.*}}[[FREE]]
// CHECK: main{{.*}}[[USE]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMallocAsync(&buffer, 4096, stream));
  consume<<<1, 32, 0, stream>>>(buffer);  // @USE
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFree(buffer));  // @FREE
}
