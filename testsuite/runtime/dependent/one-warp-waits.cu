// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread of each block waits, and the others wait for it at a barrier: right, unless the load stands before the
// barrier.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[CONSUME]]
// CHECK: main{{.*}}[[PRODUCE]]
// CHECK: cause=dependent-launch
#include "dependent.h"

__global__ void produce(float* tile) {
  trigger();
  tile[index()] = static_cast<float>(index());
}

__global__ void consume(const float* tile, float* out) {
  __shared__ float here[kThreads];
#ifndef FIXED
  here[threadIdx.x] = tile[index()];
#endif
  if (threadIdx.x == 0) wait();
  __syncthreads();
#ifdef FIXED
  here[threadIdx.x] = tile[index()];
  __syncthreads();
#endif
  out[index()] = here[kThreads - 1 - threadIdx.x];
}

int main() {
  float* tile = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, produce, tile);  // @PRODUCE
  launch(Begins::Early, s, kBlocks, kThreads, consume, tile, out);       // @CONSUME
  must(cudaDeviceSynchronize());
}
