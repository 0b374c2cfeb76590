// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose bytes depend on data. Its first two launches are measured and agree; the third has the same arguments,
// so its bytes are taken to be the same, and a fill that meets them in another stream may be a race or not: the judge
// asks. The fourth launch is measured. If it touches those bytes again it is an error; if it does not, nothing is known
// to be wrong.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured FIXED %silent %t.fixed
//
// SCRIPT: put write #0 4
// SCRIPT: put read #1 4
// FIXED: put write #0 4
// FIXED: put read #1 4
// FIXED: put@3 write #0+256 4
// FIXED: put@3 read #1 4
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[4 bytes overlap]
// CHECK: Write by cudaMemsetAsync
// CHECK: main{{.*}}[[LAST_FILL]]
// CHECK: write by kernel put
// CHECK: main{{.*}}[[LAST]]
#include "asked.h"
#include "must.h"

__global__ void put(int* buffer, int* index) { buffer[*index] = 1; }

int main() {
  int *buffer, *index;
  must(cudaMalloc(&buffer, 1024));
  must(cudaMalloc(&index, 256));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  must(cudaMemset(index, 0, 4));
  must(cudaDeviceSynchronize());

  for (int i = 0; i < 2; ++i) {
    put<<<1, 1, 0, s1>>>(buffer, index);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
  }

  put<<<1, 1, 0, s1>>>(buffer, index);
  must(cudaGetLastError());
  must(cudaMemsetAsync(buffer, 0, 4, s2));
  must(cudaDeviceSynchronize());
  until_asked();

#ifdef FIXED
  int next = 64;
  must(cudaMemcpy(index, &next, 4, cudaMemcpyHostToDevice));
#endif
  put<<<1, 1, 0, s1>>>(buffer, index);  // @LAST
  must(cudaGetLastError());
  must(cudaMemsetAsync(buffer, 0, 4, s2));  // @LAST_FILL
  must(cudaDeviceSynchronize());
}
