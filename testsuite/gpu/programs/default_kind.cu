// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-19: with cudaMemcpyDefault the direction is found from the addresses, here pinned to device and device to
// device.
#include "stage.h"

int main() {
  float* host = pinned_floats(kCount, 2.0f);
  float* back = pinned_floats();
  float* data = device_floats();
  float* copy = device_floats();
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyDefault, first));  // site: first
#ifdef FIXED
  order(first, second);
#endif
  CHECK(cudaMemcpyAsync(copy, data, kBytes, cudaMemcpyDefault, second));  // site: second
  CHECK(cudaMemcpyAsync(back, copy, kBytes, cudaMemcpyDefault, second));
  CHECK(cudaDeviceSynchronize());
  expect_all(back, kCount, 2.0f);
  return 0;
}
