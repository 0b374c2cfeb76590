// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// The destructor of an RAII buffer frees on its own stream, the user worked on another one.
#include <cuda_runtime.h>

class Scratch {
 public:
  Scratch(size_t bytes, cudaStream_t stream) : stream_(stream) { cudaMallocAsync(&data_, bytes, stream); }
  ~Scratch() { cudaFreeAsync(data_, stream_); }  // FIRES: premature-free
  Scratch(const Scratch&) = delete;
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t stream_;
};

__global__ void use(const float* in, float* scratch) { scratch[threadIdx.x] = in[threadIdx.x]; }

void run(const float* in, size_t bytes) {
  cudaStream_t pool, compute;
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  {
    Scratch scratch(bytes, pool);
    cudaStreamSynchronize(pool);
    use<<<1, 256, 0, compute>>>(in, scratch.data());
#ifdef FIXED
    cudaStreamSynchronize(compute);
#endif
  }
  cudaStreamSynchronize(compute);
  cudaStreamDestroy(pool);
  cudaStreamDestroy(compute);
}
