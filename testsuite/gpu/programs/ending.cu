// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that ends as its argument says, after a two-stream race (or, repaired, none): `kill` by SIGKILL to
// itself, `abort`, or a number: that exit code. The report must come all the same, and how the process ended must
// not change.
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "kernels.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  float* host = pinned_floats();
  float* data = device_floats();
  float* result = device_floats();
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, first));  // site: copy
#ifdef FIXED
  order(first, second);
#endif
  scale<<<blocks_for(kCount), 256, 0, second>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(argv[1], "kill") == 0) kill(getpid(), SIGKILL);
  if (std::strcmp(argv[1], "abort") == 0) std::abort();
  return std::atoi(argv[1]);
}
