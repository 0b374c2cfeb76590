// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer is in the default stream, the consumer in a non-blocking one, which does not wait for it. The default
// stream can be slow, too.
#include "confirm.h"

int main() {
  cudaStream_t reading = non_blocking_stream();
  float* result = pinned_floats();
  float* data = device_floats();
  float* out = device_floats();
  CHECK(cudaMemset(data, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  fill<<<blocks_for(kCount), 256>>>(data, kCount, 1.0f);
  CHECK(cudaGetLastError());
#ifdef FIXED
  order(nullptr, reading);
#endif
  return tell_scaled(data, out, result, 9.0f, 9.0f, reading);
}
