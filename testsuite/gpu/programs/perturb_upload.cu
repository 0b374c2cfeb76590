// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel does not wait for the upload of its input, but comes long after it. When the upload's stream is slow the
// kernel reads what was there before.
#include "confirm.h"

int main() {
  cudaStream_t upload = non_blocking_stream();
  cudaStream_t compute = non_blocking_stream();
  float* host = pinned_floats(kCount, 2.0f);
  float* result = pinned_floats();
  float* in = device_floats();
  float* out = device_floats();
  CHECK(cudaMemset(in, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpyAsync(in, host, kBytes, cudaMemcpyHostToDevice, upload));
#ifdef FIXED
  order(upload, compute);
#endif
  return tell_scaled(in, out, result, 3.0f, 6.0f, compute);
}
