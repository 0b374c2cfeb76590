// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// Only an object that made its block deletes it. Neither the constructor nor the destructor does anything on a stream.
#include <cuda_runtime.h>

#include <vector>

enum class Kept { Owner, Lent };

template <class T>
class HostArray {
 public:
  HostArray(T* data, size_t count) : data_(data), count_(count), kept_(Kept::Lent) {}
  explicit HostArray(size_t count) : data_(new T[count]), count_(count), kept_(Kept::Owner) {}
  ~HostArray() {
    if (kept_ == Kept::Owner) {
      delete[] data_;
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: 'host.data_' is deleted while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE+24]]:1: note: 'host' goes out of scope here
// CHECK-NOTES: :[[@LINE+22]]:3: note: 'host.data_' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:44: note: 'host.data_' is allocated here
// CHECK-NOTES: :[[@LINE+18]]:20: note: in the call to 'HostArray<float>::HostArray' here
// CHECK-NOTES: :[[@LINE-6]]:7: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
      data_ = nullptr;
    }
  }
  T* data() { return data_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_;
  size_t count_;
  Kept kept_;
};

void upload(std::vector<float>& values, float* device, cudaStream_t stream) {
#ifdef FIXED
  HostArray<float> host(values.data(), values.size());
#else
  HostArray<float> host(values.size());
#endif
  cudaMemcpyAsync(device, host.data(), host.bytes(), cudaMemcpyHostToDevice, stream);
}

struct Lease {
  Lease(void* block, bool mine) : block(block), mine(mine) {}
  ~Lease() {
    if (mine) end();
  }
  void end() { delete[] static_cast<char*>(block); }
  void* block;
  bool mine;
};

void lend(char* values, char* device, cudaStream_t stream) {
  cudaHostRegister(values, 4096, 0);
  Lease lease(values, false);
  cudaMemcpyAsync(device, lease.block, 4096, cudaMemcpyHostToDevice, stream);
}
