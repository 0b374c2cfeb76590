// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait in a loop and one behind it, which never has to wait: of the two the one in the loop goes, and with it its
// calls; the other one then waits once.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: cudaStreamSynchronize ([[LOOP]]) is not needed in this run.
// CHECK: Fix: remove it; cudaDeviceSynchronize ([[END]]) must stay.
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *host = pinned_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int turn = 0; turn < 8; ++turn) {
    run_set(stream, a, 1);
    must(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, stream));
#ifndef FIXED
    must(cudaStreamSynchronize(stream));  // @LOOP
#endif
  }
  must(cudaDeviceSynchronize());  // @END
  const volatile float* look = host;
  (void)look[0];
  expect(host, 1);
  done();
}
