// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A virtual call runs the only override that there is, where no other file can have another.
#include <cuda_runtime.h>

#include "virtual_open.h"

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

namespace {

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

}  // namespace

void run(Backend& backend, float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  backend.produce(p, a);
  use<<<1, 32, 0, b>>>(p);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}

// Other files may have an executor that waits.
void run_open(Executor& executor, float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  fill<<<1, 32, 0, a>>>(p);
  executor.finish();
  use<<<1, 32, 0, b>>>(p);
  executor.before_use(b);
  fill<<<1, 32, 0, a>>>(p);
  cudaStreamSynchronize(b);
}
