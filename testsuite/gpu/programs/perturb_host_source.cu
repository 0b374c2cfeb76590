// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host writes the next values into a pinned buffer that an upload may still have to read. It waits a while, but not
// for the upload.
#include "confirm.h"

int main() {
  cudaStream_t upload = non_blocking_stream();
  float* staging = pinned_floats(kCount, 7.0f);
  float* result = pinned_floats();
  float* data = device_floats();
  CHECK(cudaMemcpyAsync(data, staging, kBytes, cudaMemcpyHostToDevice, upload));
#ifdef FIXED
  CHECK(cudaStreamSynchronize(upload));
#else
  pause_host();
#endif
  for (int i = 0; i < kCount; ++i) staging[i] = 8.0f;
  CHECK(cudaMemcpyAsync(result, data, kBytes, cudaMemcpyDeviceToHost, upload));
  CHECK(cudaStreamSynchronize(upload));
  return tell_result(result, kCount, 7.0f);
}
