// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaHostUnregister while a copy still reads the memory: as cudaFreeHost (R-ALC-05).
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan:
// CHECK: main{{.*}}[[UNREGISTER]]
// CHECK: main{{.*}}[[USE]]
// CHECK: R-ALC-05
#include "must.h"

alignas(4096) char host[1 << 16];

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, sizeof host));
  must(cudaHostRegister(host, sizeof host, cudaHostRegisterDefault));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemcpyAsync(buffer, host, sizeof host, cudaMemcpyHostToDevice, stream));  // @USE
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaHostUnregister(host));  // @UNREGISTER
}
