// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measuring keeps a pace. Each kernel is measured at once with each grid, whatever that takes. A launch like one that was
// measured before, which is worth measuring as the results differ, has to wait until less than a tenth of the time went
// into such launches. Under footprint_policy=first it has not.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=needed --footprint_allowance=10000 -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=AGAIN --implicit-check-not=ERROR
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=first -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=FIRST --implicit-check-not=ERROR
// RUN: %build -DGRIDS %s -o %t.grids
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-policy=needed --footprint_allowance=10000 -v 1 -- %t.grids 2>&1 \
// RUN:   | %filecheck %s --check-prefix=GRIDS --implicit-check-not=ERROR
//
// SCRIPT: fill read #0 4
// SCRIPT: fill takes 20
// SCRIPT: fill@2 read #0 8
// SCRIPT: fill@2 takes 20
// SCRIPT: idle nothing
//
// At a tenth of the time sixty launches would take twelve seconds.
// AGAIN: footprints of kernels measured: {{[0-9]|1[0-9]}} launches in
// FIRST: footprints of kernels measured: 61 launches in
// GRIDS: footprints of kernels measured: 31 launches in
#include "must.h"

__global__ void fill(const float* buffer, float* out) { *out = buffer[threadIdx.x % 2]; }
__global__ void idle(const float* buffer) { (void)buffer; }

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 1024 * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  // What other launches may meet: it is never waited for.
  idle<<<1, 1, 0, s2>>>(buffer);
  must(cudaGetLastError());
#ifdef GRIDS
  for (unsigned grid = 1; grid <= 30; ++grid) {
    fill<<<grid, 32, 0, s1>>>(buffer, buffer + 512);
    must(cudaGetLastError());
  }
#else
  for (int round = 0; round < 60; ++round) {
    fill<<<1, 32, 0, s1>>>(buffer, buffer + 512);
    must(cudaGetLastError());
  }
#endif
  must(cudaDeviceSynchronize());
}
