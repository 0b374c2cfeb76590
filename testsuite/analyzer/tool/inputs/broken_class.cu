// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A header is missing: the class of a member is never defined.
#include <cuda_runtime.h>

class Pool;

class Engine {
 public:
  ~Engine();

 private:
  Pool pool_;
  cudaStream_t stream_;
};

Engine::~Engine() { cudaStreamDestroy(stream_); }

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void twice(float* x) {
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  work<<<1, 32, 0, first>>>(x);
  work<<<1, 32, 0, second>>>(x);
}
