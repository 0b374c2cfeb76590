// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A loop of the host's reads elements through an operator; its argument is computed, and 0 in the first round.
#include <cuda_runtime.h>

class PinnedArray {
 public:
  explicit PinnedArray(int n) { cudaMallocHost(&data_, n * sizeof(float)); }
  ~PinnedArray() { cudaFreeHost(data_); }
  float& operator[](int i) { return data_[i]; }
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

float total(const float* device, cudaStream_t stream, int n) {
  PinnedArray host(256);
  cudaMemcpyAsync(host.get(), device, 1024, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += host[i * 2];  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  return sum;
}
