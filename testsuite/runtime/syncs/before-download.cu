// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for the device before a copy in the same stream, for which it waits, too.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync unneeded: cudaDeviceSynchronize ([[SYNC]]) is not needed in this run.
// CHECK-NEXT: {{[0-9]+ calls?}}
// CHECK: Fix: remove it.
// CHECK: verdict=unneeded
// CHECK: 1 unneeded
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include <vector>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  for (int turn = 0; turn < 4; ++turn) {
    run_set(nullptr, a, 1);
#ifndef FIXED
    must(cudaDeviceSynchronize());  // @SYNC
#endif
    std::vector<float> host(kCount);
    must(cudaMemcpy(host.data(), a, kBytes, cudaMemcpyDeviceToHost));
    expect(host.data(), 1);
  }
  done();
}
