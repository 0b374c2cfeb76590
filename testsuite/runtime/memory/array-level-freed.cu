// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handle of a level is given back, which the driver allows and which frees no memory (measured, driver 580), while
// another level is being filled. Racy: the whole is given back then.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
// REQUIRES: nulldriver
//
// CHECK: LATENT: streamsan: free-while-in-use on a mipmapped array of 64 x 64 x 4 bytes [4096 bytes overlap]
// CHECK-NEXT: Free by cudaFreeMipmappedArray
// CHECK-NEXT: main{{.*}}[[FREE]]
// CHECK: Previous write by cudaMemcpy2DToArrayAsync
#include "must.h"

int main() {
  float* host;
  must(cudaMallocHost(&host, 1 << 16));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t whole;
  must(cudaMallocMipmappedArray(&whole, &element, make_cudaExtent(64, 64, 0), 3));
  cudaArray_t first, second;
  must(cudaGetMipmappedArrayLevel(&first, whole, 0));
  must(cudaGetMipmappedArrayLevel(&second, whole, 1));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemcpy2DToArrayAsync(second, 0, 0, host, 128, 128, 32, cudaMemcpyHostToDevice, stream));
  must(cudaFreeArray(first));
  must(cudaMemcpy2DToArrayAsync(second, 0, 0, host, 128, 128, 32, cudaMemcpyHostToDevice, stream));
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFreeMipmappedArray(whole));  // @FREE
}
