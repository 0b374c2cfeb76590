// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan check` reads code from the program that was recorded, and from no other. Once it was built again, or is gone, the
// launches are inferred, and the conflict is possible.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace,footprints=inferred %t
// RUN: %computed %expect 66 %streamsan check %t.trace 2>&1 | %report
// RUN: %computed %expect 0 %streamsan footprints %t.trace | %filecheck %s --check-prefix=BYTES
// RUN: cp %t %t.kept
// RUN: %build -DREBUILT %s -o %t
// RUN: %computed %expect 0 %streamsan check --min_severity=possible %t.trace 2>&1 | %filecheck %s --check-prefix=POSSIBLE
// RUN: %computed %expect 0 %streamsan footprints %t.trace | %filecheck %s --check-prefix=INFERRED
// RUN: rm %t
// RUN: %computed %expect 0 %streamsan check --min_severity=possible %t.trace 2>&1 | %filecheck %s --check-prefix=POSSIBLE
// RUN: cp %t.kept %t
// RUN: %computed %expect 66 %streamsan check %t.trace 2>&1 | %report
//
// Without a build id a file counts as long as it has not changed since the program started.
//
// RUN: %build -Xlinker --build-id=none %s -o %t.plain
// RUN: rm -f %t.plain.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.plain.trace,footprints=inferred %t.plain
// RUN: %computed %expect 0 %streamsan footprints %t.plain.trace | %filecheck %s --check-prefix=BYTES
// RUN: touch %t.plain
// RUN: %computed %expect 0 %streamsan footprints %t.plain.trace | %filecheck %s --check-prefix=INFERRED
// REQUIRES: nulldriver
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: [4 bytes overlap]
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// POSSIBLE-NOT: ERROR
// POSSIBLE: POSSIBLE: streamsan: write-after-write
// BYTES: {{^}}fill: 1 launch (1 computed)
// BYTES-NEXT: {{^}}  write [1024,2048) of 4096 bytes
// BYTES: {{^}}fill: 1 launch (1 computed)
// BYTES-NEXT: {{^}}  write [2044,3068) of 4096 bytes
// BYTES-NOT: inferred
// INFERRED: {{^}}fill: 1 launch (1 inferred)
// INFERRED: {{^}}fill: 1 launch (1 inferred)
// INFERRED-NOT: computed
#include "must.h"

#ifdef REBUILT
constexpr int kFrom = 300;
#else
constexpr int kFrom = 256;
#endif

__global__ void fill(float* data) { data[kFrom + threadIdx.x] = 1; }

int main() {
  float* data;
  must(cudaMalloc(&data, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  fill<<<1, 256, 0, s1>>>(data);  // @FIRST
  must(cudaGetLastError());
  fill<<<1, 256, 0, s2>>>(data + 255);  // @SECOND
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
