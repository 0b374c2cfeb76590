// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The class owns a non-blocking stream; its reset() forgets to use it.
#include <cuda_runtime.h>

__global__ void add(float* total, const float* x) { atomicAdd(total, x[threadIdx.x]); }

class Accumulator {
 public:
  Accumulator() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&total_, sizeof(float));
  }
  ~Accumulator() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFree(total_);
  }
  void restart_with(const float* x) {
#ifdef FIXED
    cudaMemsetAsync(total_, 0, sizeof(float), stream_);
#else
    cudaMemset(total_, 0, sizeof(float));
#endif
    add<<<1, 256, 0, stream_>>>(total_, x);  // FIRES: nonblocking-vs-default
  }

 private:
  cudaStream_t stream_;
  float* total_;
};

void use(const float* x) {
  Accumulator a;
  a.restart_with(x);
}
