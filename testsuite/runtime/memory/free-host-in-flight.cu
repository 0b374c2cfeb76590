// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFreeHost of the source of a copy in flight: as cudaFree, the wait is today's driver's (R-ALC-05).
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: {{.*}}free
// CHECK: main{{.*}}[[FREE]]
// CHECK: cudaMemcpyAsync
// CHECK: main{{.*}}[[USE]]
// CHECK: R-ALC-05
#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, stream));  // @USE
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFreeHost(host));  // @FREE
}
