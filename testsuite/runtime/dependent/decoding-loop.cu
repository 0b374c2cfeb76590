// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoding loop: the first kernel of a step begins while the last one of the step before still reads its token, and
// puts the next token there before it waits.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by kernel embed
// CHECK: main{{.*}}[[EMBED]]
// CHECK: Previous read by kernel layer
// CHECK: main{{.*}}[[LAYER]]
// CHECK: cause=dependent-launch
#include "dependent.h"

__global__ void embed(const float* table, float* token, unsigned step) {
  const float next = table[(index() + step) % kCount];
#ifdef FIXED
  wait();
#endif
  token[index()] = next;
#ifndef FIXED
  wait();
#endif
  trigger();
}

__global__ void layer(const float* token, float* cache) {
  wait();
  trigger();
  cache[index()] += token[index()];
}

int main() {
  float* table = floats();
  float* token = floats();
  float* cache = floats();
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(table, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(cache, 0, kCount * sizeof(float), s));
  for (unsigned step = 0; step < 4; ++step) {
    launch(Begins::Early, s, kBlocks, kThreads, embed, table, token, step);  // @EMBED
    launch(Begins::Early, s, kBlocks, kThreads, layer, token, cache);        // @LAYER
  }
  must(cudaDeviceSynchronize());
}
