// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One stream works on the left half of every tile of a matrix, again and again: 65,536 runs of 32 bytes in each launch.
// The other one works on the right half of the tiles in the last rows. What each touches is computed from the code, and
// all of it is remembered: halves are silent, and one element more, in the last rows of all, is an error that names its
// bytes.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %computed %expect 0 %streamsan run --min_severity=note -- %t.fixed > %t.all 2>&1
// RUN: %expect 1 test -s %t.all
// REQUIRES: nulldriver
//
// CHECK-NOT: dropped
// CHECK: ERROR: streamsan: write-after-write
// CHECK: [4096 bytes overlap: 1024 rows of 4 bytes, 64 apart]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NOT: streamsan: write-after
// CHECK-NOT: dropped
#include "must.h"

constexpr int kSide = 1024;
constexpr int kTile = 16;

__global__ void half_of_tiles(float* data, int shift) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (threadIdx.x < kTile / 2) data[y * kSide + x + shift] = 1;
}

int main() {
#ifdef FIXED
  constexpr int kShift = kTile / 2;
#else
  constexpr int kShift = kTile / 2 - 1;
#endif
  float* data;
  must(cudaMalloc(&data, kSide * kSide * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  const dim3 tile(kTile, kTile);
  for (int i = 0; i < 50; ++i) half_of_tiles<<<dim3(kSide / kTile, kSide / kTile), tile, 0, s1>>>(data, 0);  // @FIRST
  must(cudaGetLastError());
  float* last = data + kSide * (kSide - kTile);
  half_of_tiles<<<dim3(kSide / kTile, 1), tile, 0, s2>>>(last, kShift);  // @SECOND
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
