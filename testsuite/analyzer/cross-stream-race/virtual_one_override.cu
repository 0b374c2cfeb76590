// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A virtual call runs the only override that there is.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

class Backend {
 public:
  virtual ~Backend() = default;
  virtual void produce(float* p, cudaStream_t s) = 0;
};

class Device : public Backend {
 public:
  void produce(float* p, cudaStream_t s) override {
    fill<<<1, 32, 0, s>>>(p);
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
  }
};

void run(Backend& backend, float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  backend.produce(p, a);
  use<<<1, 32, 0, b>>>(p);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}
