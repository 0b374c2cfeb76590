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
  add<<<1, 256, 0, stream>>>(a.as_pointer(), b.as_pointer(), out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'add' on non-blocking stream 'stream' may read 'b.data_' while cudaMemcpy (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-23]]:5: note: 'b.data_' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-4]]:16: note: in the call to 'DeviceBuffer::DeviceBuffer' here
// CHECK-NOTES: :[[@LINE-25]]:5: note: cudaMemcpy (host to device) returns when its work may still be running (R-CPY-01)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-28]]:5: note: 'b.data_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'stream' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'add'
  cudaStreamSynchronize(stream);
}
