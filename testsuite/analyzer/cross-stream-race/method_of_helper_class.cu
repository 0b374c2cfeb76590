// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A wait hidden in a method of a class of streams; the overload without it is called by mistake.
#include <cuda_runtime.h>

class StreamSet {
 public:
  StreamSet() {
    cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&math_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
  }
  cudaStream_t io() const { return io_; }
  cudaStream_t math() const { return math_; }
  cudaStream_t math_after_io() {
    cudaEventRecord(event_, io_);
    cudaStreamWaitEvent(math_, event_, 0);
    return math_;
  }

 private:
  cudaStream_t io_, math_;
  cudaEvent_t event_;
};

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, const float* pinned, size_t bytes, float* out) {
  StreamSet streams;
  cudaMemcpyAsync(data, pinned, bytes, cudaMemcpyHostToDevice, streams.io());
#ifdef FIXED
  consume<<<1, 256, 0, streams.math_after_io()>>>(data, out);
#else
  consume<<<1, 256, 0, streams.math()>>>(data, out);  // FIRES: cross-stream-race
#endif
  cudaDeviceSynchronize();
}
