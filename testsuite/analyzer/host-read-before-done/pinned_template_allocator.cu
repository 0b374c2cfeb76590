// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A small pinned container class: the element access reads.
#include <cuda_runtime.h>

template <typename T>
class Pinned {
 public:
  explicit Pinned(size_t n) { cudaMallocHost(&data_, n * sizeof(T)); }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
};

int total(const int* device, cudaStream_t stream) {
  Pinned<int> host(1);
  cudaMemcpyAsync(host.data(), device, sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const int result = host[0];  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  return result;
}
