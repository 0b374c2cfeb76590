// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel in front never triggers: the one behind begins when it ends, today. That its stores are visible by then no
// document promises, so that what never waits is latent.
//
// RUN: %build %s -o %t
// RUN: %computed %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: read-after-write
// CHECK: main{{.*}}[[CONSUME]]
// CHECK: main{{.*}}[[PRODUCE]]
// CHECK: Today's driver orders the two by R-LCH-02a
// CHECK: Fix: call cudaGridDependencySynchronize() in kernel consume
#include "dependent.h"

__global__ void produce(float* data) { data[index()] = 1; }

__global__ void consume(const float* data, float* out) {
#ifdef FIXED
  wait();
#endif
  out[index()] = data[index()];
}

int main() {
  float* data = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, produce, data);  // @PRODUCE
  launch(Begins::Early, s, kBlocks, kThreads, consume, data, out);       // @CONSUME
  must(cudaDeviceSynchronize());
}
