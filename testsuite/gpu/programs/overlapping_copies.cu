// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies on two streams into one buffer: their byte ranges are exact, so an overlap of one float is an error,
// and side by side is silence.
#include "stage.h"

int main() {
  constexpr int kHalf = kCount / 2;
#ifdef FIXED
  constexpr int kSecond = kHalf;
#else
  constexpr int kSecond = kHalf - 1;
#endif
  float* data = device_floats();
  float* host = pinned_floats();
  cudaStream_t left = non_blocking_stream();
  cudaStream_t right = non_blocking_stream();
  CHECK(cudaMemcpyAsync(data, host, kBytes / 2, cudaMemcpyHostToDevice, left));                       // site: left
  CHECK(cudaMemcpyAsync(data + kSecond, host + kSecond, kBytes / 2, cudaMemcpyHostToDevice, right));  // site: right
  CHECK(cudaDeviceSynchronize());
  return 0;
}
