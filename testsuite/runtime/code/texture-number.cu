// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texture objects are small numbers. A kernel that is given such a number, and reads no texture, touches no array; one
// that has a texture and another parameter of the same value reads one array, and not the other's.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read race on an array of 64 x 2 bytes
// CHECK: main{{.*}}[[UPLOAD]]
// CHECK: read by kernel sample(
// CHECK: SUMMARY: streamsan: 1 error
#include "must.h"

__global__ void count(unsigned long long number, unsigned long long* out) { out[threadIdx.x] = number + threadIdx.x; }
__global__ void sample(unsigned long long number, cudaTextureObject_t image, unsigned long long* out) {
  out[threadIdx.x] = number + tex1D<short>(image, threadIdx.x);
}

int main() {
  constexpr size_t kWidth = 64, kRow = kWidth * sizeof(short);
  short* host;
  unsigned long long* out;
  must(cudaMallocHost(&host, kRow));
  must(cudaMalloc(&out, 4096));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindSigned);
  cudaArray_t arrays[2];
  cudaTextureObject_t textures[2];
  for (int i = 0; i < 2; ++i) {
    must(cudaMallocArray(&arrays[i], &element, kWidth, 0, cudaArrayDefault));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[i];
    const cudaTextureDesc how{};
    must(cudaCreateTextureObject(&textures[i], &resource, &how, nullptr));
  }
  cudaStream_t reading, uploading;
  must(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&uploading, cudaStreamNonBlocking));
#ifdef FIXED
  count<<<1, 64, 0, reading>>>(textures[0], out);
  must(cudaGetLastError());
  sample<<<1, 64, 0, reading>>>(textures[0], textures[1], out);
#else
  sample<<<1, 64, 0, reading>>>(textures[1], textures[0], out);
#endif
  must(cudaGetLastError());
  must(cudaMemcpy2DToArrayAsync(arrays[0], 0, 0, host, kRow, kRow, 1, cudaMemcpyHostToDevice, uploading));  // @UPLOAD
  must(cudaDeviceSynchronize());
}
