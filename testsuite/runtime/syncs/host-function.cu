// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host function may tell the host anything.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: the host waits for a host function (cudaLaunchHostFunc ([[TELL]])), which may tell the host anything.
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  int calls = 0;
  run_set(stream, a, 1);
  must(cudaLaunchHostFunc(stream, [](void* count) { ++*static_cast<int*>(count); }, &calls));  // @TELL
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
