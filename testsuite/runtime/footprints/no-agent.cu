// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without an agent the run goes on with inferred footprints. That is an affair of its own only where footprints=measured
// asks for it, in one line and by exit code 2; so is an agent that finds that it cannot measure here.
//
// RUN: %build %s -o %t
// RUN: %expect 0 env STREAMSAN_OPTIONS=agent_path=%t.none %silent %t
// RUN: %expect 0 %streamsan run --footprints=auto --agent-path=%t.none -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=ABSENT,INFERRED
// RUN: %expect 2 %streamsan run --footprints=measured --agent-path=%t.none -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefix=ABSENT --implicit-check-not=streamsan:
// RUN: %measured REFUSES %expect 2 %run %t 2>&1 | %filecheck %s --check-prefix=REFUSED --implicit-check-not=streamsan:
// RUN: %measured REFUSES %expect 0 %streamsan run --footprints=auto -- %t > %t.out 2>&1
// RUN: %expect 1 test -s %t.out
// RUN: %measured SCRIPT %silent %t
// REQUIRES: nulldriver
//
// REFUSES: start there is no such device here
// SCRIPT: fill write #0 4096
//
// ABSENT: streamsan: kernels cannot be measured: there is no {{.*}}.none; their bytes are computed from their code, or inferred
// INFERRED: streamsan: footprints of kernels computed from their code, or inferred
// REFUSED: there is no such device here
#include "must.h"

__global__ void fill(float*) {}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  fill<<<4, 256>>>(buffer);
  must(cudaGetLastError());
}
