// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A synchronous copy out of the device: what the host does with it cannot be seen, and a report of each would help
// nobody.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %all_syncs %t 2>&1 | %sites --check-prefix=ALL
//
// CHECK-NOT: NOTE
// CHECK: 2 synchronising call sites: 1 unknown, 1 that never had to wait (2 not shown
// ALL: sync unknown: whether the wait of cudaMemcpy (device to host)
// ALL: Why: the host may read what cudaMemcpy (device to host){{.*}} has written, once it has waited: what the host does with pageable memory cannot be seen.
#include <vector>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  run_set(nullptr, a, 1);
  std::vector<float> host(kCount);
  must(cudaMemcpy(host.data(), a, kBytes, cudaMemcpyDeviceToHost));
  expect(host.data(), 1);
  must(cudaDeviceSynchronize());
}
