// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// Pageable memory: today's driver waits inside the call, no document promises it: latent.
#include <cuda_runtime.h>

#include <numeric>
#include <vector>

float mean(const float* d_values, int n, cudaStream_t stream) {
  std::vector<float> values(n);
  cudaMemcpyAsync(values.data(), d_values, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float sum = std::accumulate(values.begin(), values.end(), 0.0f);  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  return sum / n;
}
