// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An image is copied into an array while a kernel in another stream still reads it through a texture object. What the
// number is that the kernel is given, only its code tells.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DHALF %s -o %t.half
// RUN: %computed %expect 0 %run %t.half 2>&1 | %sites --check-prefix=HIDDEN
// RUN: %computed %expect 0 %streamsan run --min_severity=possible -- %t.half 2>&1 | %sites --check-prefix=HALF
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read race on an array of 256 x 64 x 4 bytes [up to 65536 bytes overlap]
// CHECK-NEXT: Write by cudaMemcpy2DToArrayAsync
// CHECK-NEXT: main{{.*}}[[UPLOAD]]
// CHECK: read by kernel sample(unsigned long long, float*){{.*}}(through a texture or surface)
// CHECK-NEXT: main{{.*}}[[READ]]
// CHECK: Buffer an array of 256 x 64 x 4 bytes [65536 bytes] allocated by cudaMallocArray
// CHECK-NEXT: main{{.*}}[[MADE]]
// CHECK: No ordering: the host did synchronise with stream 1, but before kernel sample
// CHECK: cause=sync-too-early
// CHECK: SUMMARY: streamsan: 1 error
//
// Where a kernel reads a texture is not seen.
// HIDDEN-NOT: race
// HIDDEN: no errors, 1 possible
// HALF-NOT: ERROR
// HALF: POSSIBLE: streamsan: write-after-read race on an array of 256 x 64 x 4 bytes
// HALF: through a texture or a surface is not seen; they may use disjoint parts.
#include "must.h"

__global__ void sample(cudaTextureObject_t image, float* out) {
  out[threadIdx.x] = tex2D<float>(image, threadIdx.x, threadIdx.y);
}

int main() {
  constexpr size_t kWidth = 256, kHeight = 64, kRow = kWidth * sizeof(float);
  float *host, *out;
  must(cudaMallocHost(&host, kRow * kHeight));
  must(cudaMalloc(&out, kRow));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t image;
  must(cudaMallocArray(&image, &element, kWidth, kHeight, cudaArrayDefault));  // @MADE
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = image;
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  must(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaStream_t reading, uploading;
  must(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&uploading, cudaStreamNonBlocking));
  must(cudaMemcpy2DToArrayAsync(image, 0, 0, host, kRow, kRow, kHeight, cudaMemcpyHostToDevice, reading));
  must(cudaStreamSynchronize(reading));
  sample<<<1, 256, 0, reading>>>(texture, out);  // @READ
  must(cudaGetLastError());
#ifdef FIXED
  cudaEvent_t read;
  must(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
  must(cudaEventRecord(read, reading));
  must(cudaStreamWaitEvent(uploading, read, 0));
#endif
#ifdef HALF
  constexpr size_t kRows = kHeight / 2;
#else
  constexpr size_t kRows = kHeight;
#endif
  must(cudaMemcpy2DToArrayAsync(image, 0, 0, host, kRow, kRow, kRows, cudaMemcpyHostToDevice, uploading));  // @UPLOAD
  must(cudaDeviceSynchronize());
}
