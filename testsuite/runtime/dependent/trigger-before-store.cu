// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A router triggers before its last store, and the kernel that uses its result relies on the trigger alone. Where the
// router publishes everything first, that is right; where it triggers behind its stores and publishes nothing, it only
// works today (latent).
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DPUBLISHED %s -o %t.published
// RUN: %computed %silent %t.published
// RUN: %build -DLAST %s -o %t.last
// RUN: %computed %run %t.last 2>&1 | %sites --check-prefix=LATENT
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[EXPERTS]]
// CHECK: main{{.*}}[[ROUTE]]
// CHECK: it never waits for the kernel in front of it.
// LATENT-NOT: ERROR
// LATENT: LATENT: streamsan: read-after-write
// LATENT: Today's driver orders the two by R-LCH-02b
#include "dependent.h"

__global__ void route(const float* logits, unsigned* expert) {
  const unsigned chosen = logits[index()] > 0 ? 1 : 0;
#if defined(PUBLISHED)
  expert[index()] = chosen;
  __threadfence();
  __syncthreads();
  trigger();
#elif defined(LAST)
  expert[index()] = chosen;
  trigger();
#else
  trigger();
  expert[index()] = chosen;
#endif
}

__global__ void experts(const unsigned* expert, const float* in, float* out) {
#ifdef FIXED
  wait();
#endif
  out[index()] = expert[index()] == 1 ? in[index()] * 2 : in[index()];
}

int main() {
  float* logits = floats();
  float* out = floats();
  unsigned* expert = nullptr;
  must(cudaMalloc(&expert, kCount * sizeof(unsigned)));
  const cudaStream_t s = stream();
  must(cudaMemsetAsync(logits, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, route, logits, expert);  // @ROUTE
  launch(Begins::Early, s, kBlocks, kThreads, experts, expert, logits, out);     // @EXPERTS
  must(cudaDeviceSynchronize());
}
