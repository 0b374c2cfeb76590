// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Members that are set from outside may be one and the same stream: silent.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  Pipeline(cudaStream_t compute, cudaStream_t transfer) : compute_(compute), transfer_(transfer) {}
  void step(float* data, float* out) {
    scale<<<1, 256, 0, compute_>>>(data);
    gather<<<1, 256, 0, transfer_>>>(data, out);
  }

 private:
  cudaStream_t compute_;
  cudaStream_t transfer_;
};

void two_parameters(cudaStream_t a, cudaStream_t b, float* data, float* out) {
  scale<<<1, 256, 0, a>>>(data);
  gather<<<1, 256, 0, b>>>(data, out);
}
