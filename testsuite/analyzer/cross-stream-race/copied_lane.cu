// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Two lanes that are copies of one another have one stream: nothing to report.
#include <cuda_runtime.h>

struct Lane {
  cudaStream_t stream;
  float* data;
};

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Twins {
 public:
  explicit Twins(int n) {
    cudaStreamCreateWithFlags(&first_.stream, cudaStreamNonBlocking);
    cudaMalloc(&first_.data, n * sizeof(float));
    second_ = first_;
  }
  void run(float* out) {
    fill<<<1, 256, 0, first_.stream>>>(first_.data);
    use<<<1, 256, 0, second_.stream>>>(first_.data, out);
  }

 private:
  Lane first_, second_;
};
