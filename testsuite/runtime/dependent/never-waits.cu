// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its epilogue: the epilogue was given the attribute, and nobody gave it the wait.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[EPILOGUE]]
// CHECK: main{{.*}}[[ATTENTION]]
// CHECK: it never waits for the kernel in front of it.
// CHECK: cause=dependent-launch
#include "dependent.h"

__global__ void attention(const float* q, const float* k, const float* v, float* out) {
  __shared__ float scores[kThreads];
  scores[threadIdx.x] = __expf(q[index()] * k[index()]);
  trigger();
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i < kThreads; ++i) sum += scores[i];
  out[index()] = scores[threadIdx.x] / sum * v[index()];
}

__global__ void epilogue(const float* attended, const float* bias, float* out) {
  const float add = bias[threadIdx.x];
#ifdef FIXED
  wait();
#endif
  out[index()] = attended[index()] + add;
}

int main() {
  float* q = floats();
  float* bias = floats();
  float* attended = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(q, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(bias, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, attention, q, q, q, attended);  // @ATTENTION
  launch(Begins::Early, s, kBlocks, kThreads, epilogue, attended, bias, out);           // @EPILOGUE
  must(cudaDeviceSynchronize());
}
