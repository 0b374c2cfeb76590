// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wait is made by a second host thread. What one thread has waited for counts as known to all, in the order that the
// threads happened to have: so nothing is called unneeded while several of them wait.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: several threads wait, and which of them is first is chance
// CHECK: verdict=unknown
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include <thread>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  std::thread worker([&] {
    run_set(stream, a, 1);
#ifndef FIXED
    must(cudaStreamSynchronize(stream));  // @SYNC
#endif
    run_add(stream, b, a, 1);
  });
  worker.join();
  finish(stream, b, 2);
}
