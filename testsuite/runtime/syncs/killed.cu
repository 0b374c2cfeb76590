// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a program that was killed nobody knows what it would have done next: nothing is called unneeded.
//
// RUN: %build %s -o %t
// RUN: %expect 137 %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: the process did not end by itself, or was not recorded to its end
#include <csignal>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_add(stream, b, a, 1);
  must(cudaStreamSynchronize(stream));
  std::raise(SIGKILL);
}
