// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFreeArray while a copy to the array is under way: today's driver waits, which no document promises (R-ALC-05).
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: free-while-in-use on an array of 64 x 64 x 4 bytes
// CHECK: cudaFreeArray
// CHECK: main{{.*}}[[FREE]]
// CHECK: write by cudaMemcpy2DToArrayAsync
// CHECK: main{{.*}}[[USE]]
// CHECK: R-ALC-05
#include "must.h"

int main() {
  float* host;
  must(cudaMallocHost(&host, 64 * 64 * 4));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array;
  must(cudaMallocArray(&array, &element, 64, 64, cudaArrayDefault));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemcpy2DToArrayAsync(array, 0, 0, host, 256, 256, 64, cudaMemcpyHostToDevice, stream));  // @USE
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFreeArray(array));  // @FREE
  must(cudaFreeHost(host));
}
