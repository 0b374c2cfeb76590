// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON report: everything the printed report says, under stable names.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t 2>&1 | %filecheck %s --check-prefix=TEXT
// RUN: %json %t.json | sort > %t.flat
// RUN: %report --input-file %t.flat
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %expect 0 %streamsan run --json %t.fixed.json -- %t.fixed
// RUN: %json %t.fixed.json | %filecheck %s --check-prefix=CLEAN
//
// TEXT: ERROR: streamsan: read-after-write
// CHECK-DAG: findings.size = 1
// CHECK-DAG: findings[0].kind = "race"
// CHECK-DAG: findings[0].severity = "error"
// CHECK-DAG: findings[0].hazard = "read-after-write"
// CHECK-DAG: findings[0].cause = "no-edge"
// CHECK-DAG: findings[0].message = "{{.+}}"
// CHECK-DAG: findings[0].explanation = "{{.+}}"
// CHECK-DAG: findings[0].fix = "{{.+}}"
// CHECK-DAG: findings[0].fingerprint = "{{[0-9a-f]+}}"
// CHECK-DAG: findings[0].accesses.size = 2
// CHECK-DAG: findings[0].accesses[0].kernel = "consume(char const*)"
// CHECK-DAG: findings[0].accesses[0].api = "cuLaunchKernel{{.*}}"
// CHECK-DAG: findings[0].accesses[0].exact = false
// CHECK-DAG: findings[0].accesses[0].stream.kind = "non-blocking"
// CHECK-DAG: findings[0].accesses[1].api = "cuMemsetD8Async"
// CHECK-DAG: findings[0].accesses[1].exact = true
// CHECK-DAG: findings[0].accesses[1].stream.kind = "blocking"
// CHECK-DAG: findings[0].buffer.bytes = 4096
// CHECK-DAG: summary.errors = 1
// CHECK-DAG: summary.processes = 1
// CLEAN: findings.size = 0
// CLEAN: summary.errors = 0
// CLEAN: summary.operations = {{[1-9]}}
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  consume<<<1, 32, 0, s2>>>(buffer);
  must(cudaGetLastError());
}
