// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s
//
// The helper owns the host memory and enqueues on its caller's stream.
#include <cuda_runtime.h>

#include <memory>

struct PinnedDeleter {
  void operator()(void* p) const { cudaFreeHost(p); }
};

static std::unique_ptr<float[], PinnedDeleter> make_pinned(int n) {
  float* p = nullptr;
  cudaMallocHost(&p, n * sizeof(float));
  return std::unique_ptr<float[], PinnedDeleter>(p);
}

void outlives(float* device, int n, cudaStream_t stream) {
  auto host = make_pinned(n);
  host[0] = 1.0f;
  cudaMemcpyAsync(device, host.get(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}
