// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// `values_{maker.make(n, stream)}`: the returned object becomes the member. No temporary ends there, and nothing is
// freed.
#include <cuda_runtime.h>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void scale(float* inout) { inout[threadIdx.x] *= 2.0f; }

class Array {
 public:
  Array(size_t n, cudaStream_t stream) : stream_(stream) { cudaMallocAsync(&data_, n * sizeof(float), stream); }
  Array(const Array&) = delete;
  ~Array() { release(); }
  void release() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);  // FIRES: premature-free
    data_ = nullptr;
  }
  float* data() const { return data_; }

 private:
  cudaStream_t stream_;
  float* data_ = nullptr;
};

struct Maker {
  Array make(size_t n, cudaStream_t stream) const { return Array(n, stream); }
};

// The member lives as long as the object.
class Column {
 public:
  Column(const Maker& maker, size_t n, cudaStream_t stream) : values_{maker.make(n, stream)} {
    fill<<<1, 256, 0, stream>>>(values_.data());
  }
  void twice(cudaStream_t stream) { scale<<<1, 256, 0, stream>>>(values_.data()); }

 private:
  Array values_;
};

// The member is given back in a stream that does not wait for the kernel.
class Scratch {
 public:
  Scratch(const Maker& maker, size_t n, cudaStream_t stream) : values_{maker.make(n, stream)} {
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamSynchronize(stream);
    fill<<<1, 256, 0, own>>>(values_.data());
#ifdef FIXED
    cudaStreamSynchronize(own);
#endif
    values_.release();
    cudaStreamSynchronize(own);
    cudaStreamDestroy(own);
  }

 private:
  Array values_;
};
