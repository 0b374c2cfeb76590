// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A texture object may be made of ordinary memory: a kernel that reads through it races with a memset of that memory,
// and with none of what lies behind the texture's end.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DBEHIND %s -o %t.behind
// RUN: %computed %silent %t.behind
// RUN: %computed %expect 0 %streamsan run --min_severity=possible -- %t.behind > %t.all 2>&1
// RUN: %expect 1 test -s %t.all
// RUN: %build -DPITCHED %s -o %t.pitched
// RUN: %computed %racy %t.pitched 2>&1 | %report
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-read race on device memory 0x{{[0-9a-f]+}} [up to
// CHECK: Write by cudaMemsetAsync
// CHECK-NEXT: main{{.*}}[[CLEAR]]
// CHECK: read by kernel sample(unsigned long long, float*)
// CHECK-NEXT: main{{.*}}[[READ]]
// CHECK: allocated by cudaMalloc
// CHECK: SUMMARY: streamsan: 1 error
#include "must.h"

__global__ void sample(cudaTextureObject_t values, float* out) {
#ifdef PITCHED
  out[threadIdx.x] = tex2D<float>(values, threadIdx.x, threadIdx.y);
#else
  out[threadIdx.x] = tex1Dfetch<float>(values, threadIdx.x);
#endif
}

int main() {
  constexpr size_t kBytes = 4096;
  char* memory;
  float* out;
  must(cudaMalloc(&memory, 2 * kBytes));
  must(cudaMalloc(&out, kBytes));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaResourceDesc resource{};
#ifdef PITCHED
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = element;
  resource.res.pitch2D.width = 64;
  resource.res.pitch2D.height = 8;
  resource.res.pitch2D.pitchInBytes = 512;
#else
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = element;
  resource.res.linear.sizeInBytes = kBytes;
#endif
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  must(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaStream_t reading, clearing;
  must(cudaStreamCreateWithFlags(&reading, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&clearing, cudaStreamNonBlocking));
  sample<<<1, 256, 0, reading>>>(texture, out);  // @READ
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(reading));
#endif
#ifdef BEHIND
  memory += kBytes;
#endif
  must(cudaMemsetAsync(memory, 0, kBytes, clearing));  // @CLEAR
  must(cudaDeviceSynchronize());
}
