// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that waits on the GPU for one that its host thread launches later, as collective libraries do. A tool that
// waits for a launch before it lets the thread go on must give up waiting, or this never ends. Correct: the two meet by
// atomic operations.
#include "stage.h"

namespace {

__global__ void await(int* flag, int round, int* seen) {
  while (atomicAdd(flag, 0) < round) __nanosleep(1000);
  *seen = round;
}

__global__ void signal(int* flag, int round) { atomicMax(flag, round); }

}  // namespace

int main() {
  constexpr int kRounds = 3;
  int *flag, *seen;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMalloc(&seen, kRounds * sizeof(int)));
  CHECK(cudaMemset(flag, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t waiting = non_blocking_stream();
  cudaStream_t signalling = non_blocking_stream();
  // Loading code while a kernel waits could wait for it, with no tool at all.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, await));
  CHECK(cudaFuncGetAttributes(&attributes, signal));
  for (int round = 1; round <= kRounds; ++round) {
    await<<<1, 1, 0, waiting>>>(flag, round, seen + round - 1);
    CHECK(cudaGetLastError());
    signal<<<1, 1, 0, signalling>>>(flag, round);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(waiting));
    CHECK(cudaStreamSynchronize(signalling));
  }
  int host[kRounds];
  CHECK(cudaMemcpy(host, seen, sizeof(host), cudaMemcpyDeviceToHost));
  for (int round = 1; round <= kRounds; ++round) expect_all(host + round - 1, 1, round);
  return 0;
}
