// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A prefetcher in another stream waits for an event that is recorded between a projection and the attention behind it.
// The attention is launched to overlap the kernel in front of it, and loads before it waits. An event without timing does
// not keep the two apart (R-LCH-02g); one with timing does.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DTIMED %s -o %t.timed
// RUN: %computed %silent %t.timed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel attend
// CHECK: main{{.*}}[[ATTEND]]
// CHECK: Previous write by kernel project
// CHECK: main{{.*}}[[PROJECT]]
// CHECK: No ordering: kernel attend{{.*}} is launched with programmatic serialisation, so it may begin before kernel project
// CHECK: Fix: call cudaGridDependencySynchronize() in kernel attend{{.*}} before it touches the memory; or launch
// CHECK: cause=dependent-launch
// CHECK-NOT: streamsan: read-after
#include "dependent.h"

__global__ void project(const float* in, float* query) {
  trigger();
  query[index()] = in[index()] * 0.125f;
}

__global__ void attend(const float* query, const float* keys, float* out) {
#ifdef FIXED
  wait();
#endif
  const float by = query[index()];
#ifndef FIXED
  wait();
#endif
  out[index()] = by * keys[index()];
}

__global__ void prefetch(const float* weights, float* cache) { cache[index()] = weights[index()]; }

int main() {
  float* in = floats();
  float* query = floats();
  float* keys = floats();
  float* out = floats();
  float* weights = floats();
  float* cache = floats();
  const cudaStream_t s = stream();
  const cudaStream_t aside = stream();
  cudaEvent_t projected;
#ifdef TIMED
  must(cudaEventCreate(&projected));
#else
  must(cudaEventCreateWithFlags(&projected, cudaEventDisableTiming));
#endif
  must(cudaMemsetAsync(in, 0, kCount * sizeof(float), s));
  must(cudaMemsetAsync(keys, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, project, in, query);  // @PROJECT
  must(cudaEventRecord(projected, s));
  must(cudaStreamWaitEvent(aside, projected));
  launch(Begins::WhenAllHasEnded, aside, kBlocks, kThreads, prefetch, weights, cache);
  launch(Begins::Early, s, kBlocks, kThreads, attend, query, keys, out);  // @ATTEND
  must(cudaDeviceSynchronize());
}
