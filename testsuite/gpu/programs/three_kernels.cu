// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A correct program with several kernels, each launched in several shapes, for tests in which it is not the program
// that fails. It checks its results.
#include "kernels.cuh"
#include "stage.h"

int main() {
  constexpr int kRounds = 6;
  float* first = device_floats();
  float* second = device_floats();
  float* host = pinned_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int round = 0; round < kRounds; ++round) {
    const int count = kCount >> round;
    fill<<<blocks_for(count), 256, 0, stream>>>(first, count, static_cast<float>(round));
    CHECK(cudaGetLastError());
    scale<<<blocks_for(count), 256, 0, stream>>>(first, second, count, 3.0f);
    CHECK(cudaGetLastError());
    add_one<<<blocks_for(count), 256, 0, stream>>>(second, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, second, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_all(host, count, 3.0f * static_cast<float>(round) + 1.0f);
  }
  return 0;
}
