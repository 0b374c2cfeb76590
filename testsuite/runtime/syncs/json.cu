// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that is known stands in the JSON report.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1,json=%t.json %run %t > %t.out 2>&1
// RUN: %json %t.json | %report
//
// CHECK-DAG: findings[0].hazard = "narrower"
// CHECK-DAG: findings[0].kind = "unneeded-sync"
// CHECK-DAG: findings[0].sync.calls = 1
// CHECK-DAG: findings[0].sync.evidence = "measured"
// CHECK-DAG: findings[0].sync.replacement = "cudaEventRecord(event, stream 1) and cudaStreamWaitEvent(stream 2, event)"
// CHECK-DAG: findings[0].sync.verdict = "narrower"
// CHECK-DAG: findings[0].sync.waits = "device"
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
  must(cudaDeviceSynchronize());
  run_add(s2, b, a, 1);
  finish(s2, b, 2);
}
