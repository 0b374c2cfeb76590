// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two steps share a workspace. The second clears it before its wait, and the first may still be reading it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by kernel next
// CHECK: main{{.*}}[[NEXT]]
// CHECK: Previous read by kernel reduce
// CHECK: main{{.*}}[[REDUCE]]
// CHECK: it touches the memory before it waits for that kernel.
// CHECK: cause=dependent-launch
#include "dependent.h"

__global__ void reduce(const float* workspace, float* out) {
  trigger();
  float sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += workspace[(index() + i * kThreads) % kCount];
  out[index()] = sum;
}

__global__ void next(const float* in, float* workspace) {
#ifdef FIXED
  wait();
  workspace[index()] = 0;
#else
  workspace[index()] = 0;
  wait();
#endif
  workspace[index()] += in[index()];
}

int main() {
  float* workspace = floats();
  float* out = floats();
  float* in = floats();
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(workspace, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(in, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, reduce, workspace, out);  // @REDUCE
  launch(Begins::Early, s, kBlocks, kThreads, next, in, workspace);               // @NEXT
  must(cudaDeviceSynchronize());
}
