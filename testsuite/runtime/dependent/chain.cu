// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three kernels, each launched to overlap the one in front: norm, quantisation of something else, matrix product. The
// product waits, but for the quantisation only, which has not waited for the norm.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel product
// CHECK: main{{.*}}[[PRODUCT]]
// CHECK: Previous write by kernel norm
// CHECK: main{{.*}}[[NORM]]
// CHECK: waits for kernel quantise{{.*}} right in front of it, and that did not wait for kernel norm
// CHECK: Fix: call cudaGridDependencySynchronize() in kernel quantise{{.*}}; or launch that without
// CHECK: cause=dependent-launch
// CHECK-NOT: streamsan: read-after
#include "dependent.h"

__global__ void norm(const float* in, float* out) {
  trigger();
  out[index()] = in[index()] * rsqrtf(in[index()] + 1);
}

__global__ void quantise(const float* weights, signed char* out) {
#ifdef FIXED
  wait();
#endif
  trigger();
  out[index()] = static_cast<signed char>(weights[index()] * 127);
}

__global__ void product(const float* normed, const signed char* weights, float* out) {
  wait();
  float sum = 0;
  for (unsigned i = 0; i < kThreads; ++i) sum += normed[blockIdx.x * kThreads + i] * static_cast<float>(weights[i]);
  out[index()] = sum;
}

int main() {
  float* in = floats();
  float* normed = floats();
  float* weights = floats();
  float* out = floats();
  signed char* quantised = nullptr;
  must(cudaMalloc(&quantised, kCount));
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(in, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(weights, 0, kCount * sizeof(float), s));
  launch(Begins::Early, s, kBlocks, kThreads, norm, in, normed);                       // @NORM
  launch(Begins::Early, s, kBlocks, kThreads, quantise, weights, quantised);
  launch(Begins::Early, s, kBlocks, kThreads, product, normed, quantised, out);        // @PRODUCT
  must(cudaDeviceSynchronize());
}
