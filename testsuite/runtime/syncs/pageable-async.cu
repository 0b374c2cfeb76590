// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous copy to pageable memory waits all the same. What the host does with the memory cannot be seen.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded: the wait of cudaMemcpyAsync
// CHECK: whether the wait of cudaMemcpyAsync (device to host) ([[SYNC]]) is needed is not known.
#include <vector>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  std::vector<float> host(kCount);
  must(cudaMemcpyAsync(host.data(), a, kBytes, cudaMemcpyDeviceToHost, stream));  // @SYNC
  must(cudaStreamSynchronize(stream));
  expect(host.data(), 1);
}
