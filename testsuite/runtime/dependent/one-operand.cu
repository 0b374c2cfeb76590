// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product prefetches one operand before the wait: weights, which are there for long. In the bug the two were
// taken for each other, and the operand that comes from the kernel in front is prefetched.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[PRODUCT]]
// CHECK: main{{.*}}[[ACTIVATE]]
// CHECK: it touches the memory before it waits for that kernel.
#include "dependent.h"

__global__ void activate(const float* in, float* out) {
  trigger();
  out[index()] = in[index()] > 0 ? in[index()] : 0;
}

__global__ void product(const float* activated, const float* weights, float* out) {
  __shared__ float tile[kThreads];
#ifdef FIXED
  tile[threadIdx.x] = weights[index()];
#else
  tile[threadIdx.x] = activated[index()];
#endif
  wait();
  __syncthreads();
#ifdef FIXED
  const float other = activated[index()];
#else
  const float other = weights[index()];
#endif
  out[index()] = tile[kThreads - 1 - threadIdx.x] * other;
}

int main() {
  float* in = floats();
  float* weights = floats();
  float* activated = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(in, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(weights, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, activate, in, activated);     // @ACTIVATE
  launch(Begins::Early, s, kBlocks, kThreads, product, activated, weights, out);      // @PRODUCT
  must(cudaDeviceSynchronize());
}
