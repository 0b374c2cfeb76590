// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that forks before it uses CUDA, as launchers and data loaders do. Parent and child each have a race of
// their own, and each must be reported.
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.cuh"
#include "stage.h"

namespace {
void race() {
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
}
}  // namespace

int main() {
  const pid_t child = fork();
  if (child < 0) return 2;
  race();
  if (child == 0) return 0;
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : 2;
}
