// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DCOMPARED
//
// A stream that a class creates for itself is another one than what its caller gives it, unless the code asks whether
// they are one.
#include <cuda_runtime.h>

__global__ void fire(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void glaze(const float* p, float* out) { out[threadIdx.x] = p[threadIdx.x]; }

class Oven {
 public:
  Oven() {
    cudaStreamCreateWithFlags(&heat_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  ~Oven() {
    cudaStreamSynchronize(heat_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(heat_);
  }
  void bake(float* pot, float* out, cudaStream_t s) {
    fire<<<1, 32, 0, heat_>>>(pot);
#ifdef COMPARED
    if (heat_ != s) cudaStreamSynchronize(heat_);
#elif defined(FIXED)
    cudaEventRecord(done_, heat_);
    cudaStreamWaitEvent(s, done_, 0);
#endif
    glaze<<<1, 32, 0, s>>>(pot, out);  // FIRES: cross-stream-race
  }

 private:
  cudaStream_t heat_ = nullptr;
  cudaEvent_t done_ = nullptr;
};
