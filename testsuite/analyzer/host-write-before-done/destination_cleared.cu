// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The host clears the destination after the download was enqueued: which of the two stays is open.
#include <cuda_runtime.h>

#include <cstring>

void fetch(const float* device, size_t bytes) {
  cudaStream_t stream;
  float* host = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&host, bytes);
#ifdef FIXED
  std::memset(host, 0, bytes);
  cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
#else
  cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
  std::memset(host, 0, bytes);  // FIRES: host-write-before-done
#endif
  cudaStreamSynchronize(stream);
  cudaFreeHost(host);
}
