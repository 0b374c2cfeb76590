// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan footprints` shows what a kept trace knows of each launch.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.traces
// RUN: %measured SCRIPT %expect 0 %streamsan run --keep-trace --trace-dir=%t.traces -- %t
// RUN: %streamsan footprints --json=%t.json %t.traces/*/*.trace | %filecheck %s
// RUN: %filecheck %s --check-prefix=JSON < %t.json
// RUN: %expect 2 %streamsan footprints %t.json 2>&1 | %filecheck %s --check-prefix=OTHER
//
// SCRIPT: rows write #0 16 8 64
// SCRIPT: rows read #1 4
//
// CHECK: .trace: process {{[0-9]+}}, 3 launches
// CHECK: {{^}}rows: 3 launches (2 measured, 1 learned)
// CHECK-NEXT: {{^}}  write [0,16) x 8 rows, 64 apart of 4096 bytes
// CHECK-NEXT: {{^}}  read [0,4) of 256 bytes
// JSON: {"launch":0,"pid":{{[0-9]+}},"kernel":"_Z4rowsPfPKi","demangled":"rows(float*, int const*)","known":"measured","complete":true,"pieces":[{"mode":"write","address":{{[0-9]+}},"width":16,"rows":8,"pitch":64,
// JSON: {"launch":2,{{.*}}"known":"learned"
// OTHER: .json: cannot read it: it is {{.*}}a StreamSan trace
#include "must.h"

__global__ void rows(float* out, const int* in) {
  if (threadIdx.x < 4) out[blockIdx.x * 16 + threadIdx.x] = static_cast<float>(*in);
}

int main() {
  float* out;
  int* in;
  must(cudaMalloc(&out, 4096));
  must(cudaMalloc(&in, 256));
  for (int i = 0; i < 3; ++i) {
    rows<<<8, 32>>>(out, in);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
  }
}
