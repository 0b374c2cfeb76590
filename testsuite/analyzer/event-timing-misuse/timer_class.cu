// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
// RUN: %check event-timing-misuse %s -- -DFIXED
//
// A timer class whose elapsed() reads without waiting.
#include <cuda_runtime.h>

class Timer {
 public:
  Timer() {
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  void start(cudaStream_t s) { cudaEventRecord(begin_, s); }
  void stop(cudaStream_t s) { cudaEventRecord(end_, s); }
  float elapsed() {
    float ms = 0.0f;
#ifdef FIXED
    cudaEventSynchronize(end_);
#endif
    cudaEventElapsedTime(&ms, begin_, end_);  // FIRES: event-timing-misuse
    return ms;
  }

 private:
  cudaEvent_t begin_{}, end_{};
};

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float measure(float* x, cudaStream_t s) {
  Timer timer;
  timer.start(s);
  work<<<1, 256, 0, s>>>(x);
  timer.stop(s);
  return timer.elapsed();
}
