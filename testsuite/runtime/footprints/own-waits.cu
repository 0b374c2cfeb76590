// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever measures a launch waits for the GPU before and after it. The program does not know of that and must not rely
// on it: the host writes a pinned buffer that an upload may still read, and the kernel in between is measured.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured SCRIPT %silent %t.fixed
//
// SCRIPT: work write #0 1024
// SCRIPT: work waits
//
// CHECK: ERROR: streamsan: write-after-read host race on pinned host memory
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cudaMemcpyAsync
// CHECK: main{{.*}}[[COPY]]
#include "must.h"

__global__ void work(float* buffer) { buffer[threadIdx.x] = 1; }

int main() {
  constexpr int kFloats = 256;
  float *device, *other, *host;
  must(cudaMalloc(&device, kFloats * sizeof(float)));
  must(cudaMalloc(&other, kFloats * sizeof(float)));
  must(cudaMallocHost(&host, kFloats * sizeof(float)));
  for (int i = 0; i < kFloats; ++i) host[i] = 0;
  cudaStream_t copies, kernels;
  must(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking));
  must(cudaMemcpyAsync(device, host, kFloats * sizeof(float), cudaMemcpyHostToDevice, copies));  // @COPY
  work<<<1, kFloats, 0, kernels>>>(other);
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(copies));
#endif
  *static_cast<volatile float*>(host) = 1;  // @WRITE
  must(cudaDeviceSynchronize());
}
