// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array is freed while a kernel may still read it through a texture. Today's driver waits for all work first, which no
// document promises (R-ALC-05): latent, exit code 0. A mipmapped array goes the same way.
//
// RUN: %build %s -o %t
// RUN: %computed %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DLEVELS %s -o %t.levels
// RUN: %computed %expect 0 %run %t.levels 2>&1 | %sites --check-prefix=LEVELS
// RUN: %build -DLEVELS -DFIXED %s -o %t.levels.fixed
// RUN: %computed %silent %t.levels.fixed
// REQUIRES: nulldriver
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: free-while-in-use on an array of 256 x 64 x 1 byte
// CHECK: cudaFreeArray
// CHECK-NEXT: main{{.*}}[[FREE]]
// CHECK: read by kernel sample(
// CHECK-NEXT: main{{.*}}[[READ]]
// CHECK: R-ALC-05
// LEVELS-NOT: ERROR
// LEVELS: LATENT: streamsan: free-while-in-use on a mipmapped array of 256 x 64 x 1 byte
// LEVELS: cudaFreeMipmappedArray
#include "must.h"

__global__ void sample(cudaTextureObject_t image, int* out) {
  out[threadIdx.x] = tex2D<unsigned char>(image, threadIdx.x, threadIdx.y);
}

int main() {
  int* out;
  must(cudaMalloc(&out, 4096));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaResourceDesc resource{};
#ifdef LEVELS
  cudaMipmappedArray_t image;
  must(cudaMallocMipmappedArray(&image, &element, {256, 64, 0}, 3, cudaArrayDefault));
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = image;
#else
  cudaArray_t image;
  must(cudaMallocArray(&image, &element, 256, 64, cudaArrayDefault));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = image;
#endif
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  must(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  sample<<<1, 256, 0, stream>>>(texture, out);  // @READ
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaDestroyTextureObject(texture));
#ifdef LEVELS
  must(cudaFreeMipmappedArray(image));
#else
  must(cudaFreeArray(image));  // @FREE
#endif
}
