// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-11: a synchronous copy waits for the legacy stream and so for blocking streams, but never for a non-blocking
// one. "It is synchronous, so the data is there" is among the most common stream bugs.
#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t stream = non_blocking_stream();
  float* data = device_floats();
  float* host = pinned_floats();
  fill<<<blocks_for(kCount), 256, 0, stream>>>(data, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  CHECK(cudaMemcpy(host, data, kBytes, cudaMemcpyDeviceToHost));  // site: copy
  expect_all(host, kCount, 2.0f);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
