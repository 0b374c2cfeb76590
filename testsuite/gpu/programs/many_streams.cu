// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A long correct run: 64 streams in a ring, each handing its buffer to the next, 4,000 rounds; 768,000 driver calls.
// What is remembered must follow the live streams and allocations, not the length of the run.
#include "kernels.cuh"
#include "stage.h"

int main() {
  constexpr int kStreams = 64;
  constexpr int kRounds = 4000;
  constexpr int kSmall = 1024;
  cudaStream_t streams[kStreams];
  cudaEvent_t done[kStreams];
  for (int i = 0; i < kStreams; ++i) {
    streams[i] = non_blocking_stream();
    done[i] = new_event();
  }
  float* data = device_floats(kSmall);
  float* host = pinned_floats(kSmall);
  CHECK(cudaMemsetAsync(data, 0, kSmall * sizeof(float), streams[0]));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kStreams; ++i) {
      add_one<<<blocks_for(kSmall), 256, 0, streams[i]>>>(data, kSmall);
      CHECK(cudaEventRecord(done[i], streams[i]));
      CHECK(cudaStreamWaitEvent(streams[(i + 1) % kStreams], done[i], 0));
    }
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host, data, kSmall * sizeof(float), cudaMemcpyDeviceToHost, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
  expect_all(host, kSmall, static_cast<float>(kStreams * kRounds));
  return 0;
}
