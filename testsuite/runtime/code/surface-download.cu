// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel writes an array through a surface object, and another stream copies the array back without waiting for it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: read-after-write race on an array of 128 x 32 x 4 bytes
// CHECK-NEXT: Read by cudaMemcpy2DFromArrayAsync
// CHECK-NEXT: main{{.*}}[[DOWNLOAD]]
// CHECK: write by kernel paint(unsigned long long)
// CHECK-NEXT: main{{.*}}[[PAINT]]
// CHECK: allocated by cudaMallocArray
// CHECK: SUMMARY: streamsan: 1 error
#include "must.h"

__global__ void paint(cudaSurfaceObject_t image) { surf2Dwrite(1.0f, image, threadIdx.x * 4, threadIdx.y); }

int main() {
  constexpr size_t kWidth = 128, kHeight = 32, kRow = kWidth * sizeof(float);
  float* host;
  must(cudaMallocHost(&host, kRow * kHeight));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t image;
  must(cudaMallocArray(&image, &element, kWidth, kHeight, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = image;
  cudaSurfaceObject_t surface;
  must(cudaCreateSurfaceObject(&surface, &resource));
  cudaStream_t painting, reading;
  must(cudaStreamCreateWithFlags(&painting, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking));
  paint<<<4, dim3(128, 8), 0, painting>>>(surface);  // @PAINT
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(painting));
#endif
  must(cudaMemcpy2DFromArrayAsync(host, kRow, image, 0, 0, kRow, kHeight, cudaMemcpyDeviceToHost,  // @DOWNLOAD
                                  reading));
  must(cudaDeviceSynchronize());
}
