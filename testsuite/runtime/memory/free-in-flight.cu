// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFree of a buffer a kernel still uses. Today's driver waits for all work first, which the documents do not promise
// (R-ALC-02): latent, exit code 0.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: {{.*}}free
// CHECK: main{{.*}}[[FREE]]
// CHECK: consume
// CHECK: main{{.*}}[[USE]]
// CHECK: R-ALC-02
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  consume<<<1, 32, 0, stream>>>(buffer);  // @USE
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFree(buffer));  // @FREE
}
