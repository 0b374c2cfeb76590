// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// Rust-GPU/rust-cuda#15, IM (in the words of C++): a buffer made from a slice of pageable memory, used at once in a
// non-blocking stream.
#include <cuda_runtime.h>

#include <vector>

class DeviceBuffer {
 public:
  explicit DeviceBuffer(const std::vector<float>& slice) {
    cudaMalloc(&data_, slice.size() * sizeof(float));
    cudaMemcpy(data_, slice.data(), slice.size() * sizeof(float), cudaMemcpyHostToDevice);
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  float* as_pointer() const { return data_; }

 private:
  float* data_ = nullptr;
};

__global__ void add(const float* x, const float* y, float* out) { out[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]; }

void example(const std::vector<float>& x, const std::vector<float>& y, float* out) {
  cudaStream_t stream;
#ifdef FIXED
  cudaStreamCreate(&stream);
#else
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#endif
  DeviceBuffer a(x);
  DeviceBuffer b(y);
  add<<<1, 256, 0, stream>>>(a.as_pointer(), b.as_pointer(), out);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(stream);
}
