// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The class has a stream, and this method uses it one line above.
#include <cuda_runtime.h>

__global__ void first(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void second(float* x) { x[threadIdx.x] *= 2.0f; }

class Layer {
 public:
  explicit Layer(cudaStream_t s) : stream_(s) {}
  void forward(float* x) {
    first<<<1, 256, 0, stream_>>>(x);
#ifdef FIXED
    second<<<1, 256, 0, stream_>>>(x);
#else
    second<<<1, 256>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'second' goes to the default stream although stream 'this->stream_' is in scope [streamsan-implicit-default-stream]
#endif
  }

 private:
  cudaStream_t stream_;
};
