// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A vector that takes over what a copy is still bringing.
#include <cuda_runtime.h>

#include <vector>

void results(const float* device, std::vector<float>& out, std::vector<float>& all, cudaStream_t s) {
  constexpr int kCount = 256;
  float* host = nullptr;
  cudaMallocHost(&host, kCount * sizeof(float));
  cudaMemcpyAsync(host, device, kCount * sizeof(float), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  out.assign(host, host + kCount);  // FIRES: host-read-before-done
#ifdef FIXED
  all.insert(all.end(), host, host + kCount);
#endif
  cudaStreamSynchronize(s);
  cudaFreeHost(host);
}

void append(const float* device, std::vector<float>& all, cudaStream_t s) {
  constexpr int kCount = 256;
  float* host = nullptr;
  cudaMallocHost(&host, kCount * sizeof(float));
  cudaMemcpyAsync(host, device, kCount * sizeof(float), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  all.insert(all.end(), host, host + kCount);  // FIRES: host-read-before-done
  cudaStreamSynchronize(s);
  cudaFreeHost(host);
}
