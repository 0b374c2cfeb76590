// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan footprints` shows what the code of each launch tells: all of its bytes, some of them, only how its pointers
// are used, or, with kernel_code=0, nothing.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.traces
// RUN: %computed %expect 0 %streamsan run --keep-trace --trace-dir=%t.traces -- %t
// RUN: %computed %streamsan footprints --json=%t.json %t.traces/*/*.trace | %filecheck %s
// RUN: %filecheck %s --check-prefix=JSON < %t.json
// RUN: %streamsan footprints %t.traces/*/*.trace | %filecheck %s --check-prefix=OFF
// REQUIRES: nulldriver
//
// CHECK: .trace: process {{[0-9]+}}, 5 launches
// CHECK: {{^}}columns: 2 launches (2 computed)
// CHECK-NEXT: {{^}}  write [64,128) x 8 rows, 256 apart of 4096 bytes
// CHECK: {{^}}count: 1 launch (1 computed)
// CHECK-NEXT: {{^}}  read [0,128) of 4096 bytes
// CHECK-NEXT: {{^}}  may read or write [0,4096) of 4096 bytes
// CHECK: {{^}}nothing: 1 launch (1 computed)
// CHECK-NEXT: {{^}}  touches no memory
// CHECK: {{^}}polls: 1 launch (1 inferred)
// CHECK-NEXT: {{^}}  may read or write [0,4096) of 4096 bytes
// CHECK-NEXT: {{^}}  may read or write [0,4096) of 4096 bytes
// JSON: "kernel":"_Z7columnsPfi",{{.*}}"known":"computed","complete":true,"pieces":[{"mode":"write",
// JSON: "kernel":"_Z5countPiS_",{{.*}}"known":"computed","complete":false,"pieces":[{"mode":"read",
// OFF: {{^}}columns: 2 launches (2 inferred)
// OFF-NEXT: {{^}}  may read or write [0,4096) of 4096 bytes
// OFF-NOT: computed
#include "must.h"

__global__ void columns(float* matrix, int first) { matrix[threadIdx.y * 64 + first + threadIdx.x] = 1; }
__global__ void count(int* counters, int* values) { atomicAdd(counters + values[threadIdx.x], 1); }
__global__ void nothing(float*) {}
__global__ void polls(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  out[threadIdx.x] = 1;
}

int main() {
  float* matrix;
  int *counters, *values;
  must(cudaMalloc(&matrix, 4096));
  must(cudaMalloc(&counters, 4096));
  must(cudaMalloc(&values, 4096));
  for (int i = 0; i < 2; ++i) {
    columns<<<1, dim3(16, 8)>>>(matrix, 16);
    must(cudaGetLastError());
  }
  count<<<1, 32>>>(counters, values);
  must(cudaGetLastError());
  nothing<<<1, 32>>>(matrix);
  must(cudaGetLastError());
  polls<<<1, 32>>>(values, counters);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
