// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measuring a kernel fails: it takes too long, touches too much, cannot be instrumented, or takes the means to measure
// with it. The program runs on, and the bytes of that kernel are inferred: no error can be made of them. The other kernel
// is measured all the same, unless nothing can be any more.
//
// RUN: %build %s -o %t
// RUN: %measured FINE %racy %t 2>&1 | %report
// RUN: %measured LATE %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=ONE --implicit-check-not=ERROR
// RUN: %measured LARGE %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=ONE --implicit-check-not=ERROR
// RUN: %measured FAILS %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=ONE --implicit-check-not=ERROR
// RUN: %measured REFUSED %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=ONE --implicit-check-not=ERROR
// RUN: %measured PARTS %expect 0 %streamsan run --min-severity=possible -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=POSSIBLE --implicit-check-not=ERROR
// RUN: %measured DEAD %expect 2 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=NONE --implicit-check-not=ERROR
// REQUIRES: nulldriver
//
// FINE: first write #0 64
// FINE: second write #0+32 64
// LATE: first outcome late it spins
// LATE: second write #0+32 64
// LARGE: first outcome too-large
// LARGE: second write #0+32 64
// FAILS: first outcome failed no reason at all
// FAILS: second write #0+32 64
// REFUSED: first begin failed
// REFUSED: second write #0+32 64
// DEAD: first outcome dead the instrumentation is gone
// DEAD: second write #0+32 64
// Incomplete: what was seen is true, but the pointer may reach further.
// PARTS: first write #0+128 64
// PARTS: first outcome incomplete it moves memory by tensor maps
// PARTS: second write #0+32 64
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}[32 bytes overlap]
// ONE: footprints of kernels measured: 1 launch in
// NONE: the instrumentation is gone
// POSSIBLE: POSSIBLE: streamsan: write-after-write
#include "must.h"

__global__ void first(float*, int) {}
__global__ void second(float*, int) {}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  first<<<1, 16, 0, s1>>>(buffer, 1);
  must(cudaGetLastError());
  second<<<1, 16, 0, s2>>>(buffer + 4, 1);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
