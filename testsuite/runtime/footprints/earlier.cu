// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one run has measured is kept for the next one. The same program measures less the second time, and gets the
// same report: launches that may meet unordered work are measured all the same; with other machine code, or when the file is damaged, it measures again.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.cache && mkdir %t.cache
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=COLD --implicit-check-not=ERROR
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=WARM --implicit-check-not=ERROR
//
// Not with the option off, and not of a kernel whose code has changed, or whose code nobody can tell.
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=off -v 1 -- %t 2>&1 | %filecheck %s --check-prefix=COLD
// RUN: %measured CHANGED %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=COLD
// RUN: %measured UNKNOWN %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=COLD
//
// A damaged file is left out, with one line, and is whole again after the run. What is not ours stays as it is.
// RUN: %measured SCRIPT %silent %t
// RUN: %python -c "import sys; f = open(sys.argv[1], 'r+b'); f.seek(60); f.write(b'garbage')" %t.cache/footprints
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=DAMAGED,COLD
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=WARM
// RUN: echo "a letter home" > %t.cache/footprints
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=%t.cache -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=FOREIGN,COLD
// RUN: grep "a letter home" %t.cache/footprints
//
// A folder that cannot be made is no trouble.
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=/dev/null/no -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=COLD,NOWHERE
// RUN: %measured SCRIPT %expect 0 %streamsan run --footprint-cache=/dev/null/no -- %t 2>&1 | %filecheck %s --check-prefix=NOTHING --allow-empty
// REQUIRES: nulldriver
//
// SCRIPT: part write #0 1024
// CHANGED: part write #0 1024
// CHANGED: part code 2
// UNKNOWN: part write #0 1024
// UNKNOWN: part code 0
//
// DAMAGED: what earlier runs measured is not used: {{.*}}footprints is damaged
// FOREIGN: what earlier runs measured is not used: {{.*}}footprints is not StreamSan's, and is left alone
// COLD: footprints of kernels measured: 8 launches in {{.*}} s, 1 distinct footprint
// NOWHERE: what was measured is not kept for later runs: cannot write /dev/null/no/footprints
// WARM: footprints of kernels measured: 7 launches in {{.*}} s, 1 known from earlier runs, 1 distinct footprint
//
// NOTHING-NOT: {{.}}
#include "must.h"

__global__ void part(float* buffer) { buffer[threadIdx.x] = 1; }

int main() {
  constexpr int kParts = 4, kFloats = 256, kRounds = 3;
  float* buffer;
  must(cudaMalloc(&buffer, kParts * kFloats * sizeof(float)));
  cudaStream_t streams[kParts];
  for (cudaStream_t& stream : streams) must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kParts; ++i) {
      part<<<1, kFloats, 0, streams[i]>>>(buffer + i * kFloats);
      must(cudaGetLastError());
    }
  }
  must(cudaDeviceSynchronize());
}
