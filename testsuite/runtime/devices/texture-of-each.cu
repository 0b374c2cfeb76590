// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two devices have a texture of their own each. The driver counts the objects of each context from 1, so both have the same
// number, which says by itself nothing of the memory: an upload to the one races with the kernel on its own device only.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_NULL_DEVICES=2 %computed %silent %t.fixed
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read race on device memory
// CHECK-NEXT: Write by cudaMemcpyAsync
// CHECK-NEXT: main{{.*}}[[UPLOAD]]
// CHECK: read by kernel sample{{.*}}(through a texture or surface)
// CHECK-NEXT: main{{.*}}[[READ]]
// CHECK: SUMMARY: streamsan: 1 error
#include "must.h"

__global__ void sample(cudaTextureObject_t rows, float* out) { out[threadIdx.x] = tex1Dfetch<float>(rows, threadIdx.x); }

constexpr size_t kCount = 1024, kBytes = kCount * sizeof(float);

struct Device {
  float *rows, *out;
  cudaTextureObject_t texture;
  cudaStream_t reading, uploading;
};

Device on(int number) {
  Device made;
  must(cudaSetDevice(number));
  must(cudaMalloc(&made.rows, kBytes));
  must(cudaMalloc(&made.out, kBytes));
  must(cudaStreamCreateWithFlags(&made.reading, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&made.uploading, cudaStreamNonBlocking));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = made.rows;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = kBytes;
  const cudaTextureDesc how{};
  must(cudaCreateTextureObject(&made.texture, &resource, &how, nullptr));
  return made;
}

int main() {
  const Device first = on(0), second = on(1);
  if (first.texture != second.texture) return 1;
#ifdef FIXED
  const Device& uploaded = second;
#else
  const Device& uploaded = first;
#endif
  float* host;
  must(cudaMallocHost(&host, kBytes));
  must(cudaSetDevice(0));
  sample<<<1, kCount, 0, first.reading>>>(first.texture, first.out);  // @READ
  must(cudaGetLastError());
  must(cudaSetDevice(&uploaded == &first ? 0 : 1));
  must(cudaMemcpyAsync(uploaded.rows, host, kBytes, cudaMemcpyHostToDevice, uploaded.uploading));  // @UPLOAD
  for (int device : {0, 1}) {
    must(cudaSetDevice(device));
    must(cudaDeviceSynchronize());
  }
}
