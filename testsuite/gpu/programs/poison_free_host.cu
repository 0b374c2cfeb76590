// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFreeHost while an upload has not read the memory yet: it is behind a kernel that takes long. Today's driver
// waits.
#include "confirm.h"

int main() {
  cudaStream_t stream = non_blocking_stream();
  float* host = pinned_floats(kCount, 6.0f);
  float* result = pinned_floats();
  float* data = device_floats();
  hold<<<1, 1, 0, stream>>>(kLongCycles);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, stream));
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  CHECK(cudaFreeHost(host));
  CHECK(cudaMemcpyAsync(result, data, kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  return tell_result(result, kCount, 6.0f);
}
