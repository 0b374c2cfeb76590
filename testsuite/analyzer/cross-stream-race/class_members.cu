// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two streams owned by one object, created in its constructor: two different streams.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  Pipeline() {
    cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&scaled_, cudaEventDisableTiming);
    cudaMalloc(&data_, 1024);
  }
  ~Pipeline() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(transfer_);
    cudaEventDestroy(scaled_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(transfer_);
    cudaFree(data_);
  }
  void step(float* out) {
    scale<<<1, 256, 0, compute_>>>(data_);
#ifdef FIXED
    cudaEventRecord(scaled_, compute_);
    cudaStreamWaitEvent(transfer_, scaled_, 0);
#endif
    gather<<<1, 256, 0, transfer_>>>(data_, out);  // FIRES: cross-stream-race
#ifdef FIXED
    cudaEventRecord(scaled_, transfer_);
    cudaStreamWaitEvent(compute_, scaled_, 0);
#endif
  }

 private:
  cudaStream_t compute_ = nullptr;
  cudaStream_t transfer_ = nullptr;
  cudaEvent_t scaled_ = nullptr;
  float* data_ = nullptr;
};

void drive(float* out) {
  Pipeline pipeline;
  pipeline.step(out);
}
