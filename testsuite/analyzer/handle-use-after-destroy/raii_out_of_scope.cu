// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// The plain handle outlives the wrapper that it was taken from.
#include <cuda_runtime.h>

class Stream {
 public:
  Stream() { cudaStreamCreate(&stream_); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_;
};

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t handle = nullptr;
  {
    Stream stream;
    handle = stream.get();
    work<<<1, 256, 0, handle>>>(x);
#ifdef FIXED
    work<<<1, 256, 0, handle>>>(x);
#endif
  }
#ifndef FIXED
  work<<<1, 256, 0, handle>>>(x);  // FIRES: handle-use-after-destroy
#endif
  cudaDeviceSynchronize();
}
