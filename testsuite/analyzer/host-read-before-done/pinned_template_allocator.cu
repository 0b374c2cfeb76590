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

 private:
  T* data_ = nullptr;
};

int total(const int* device, cudaStream_t stream) {
  Pinned<int> host(1);
  cudaMemcpyAsync(host.data(), device, sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const int result = host.data()[0];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: the host may read 'host.data_' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host.data_' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-19]]:31: note: 'host.data_' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:15: note: in the call to 'Pinned<int>::Pinned' here
// CHECK-NOTES: :[[@LINE-6]]:22: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  return result;
}
