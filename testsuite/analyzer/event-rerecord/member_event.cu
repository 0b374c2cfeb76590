// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// A class keeps one event for two streams.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

class Halves {
 public:
  Halves() {
    cudaStreamCreateWithFlags(&left_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&right_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&left_done_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&right_done_, cudaEventDisableTiming);
  }
  void run(float* x, float* y, cudaStream_t joined) {
    work<<<1, 256, 0, left_>>>(x);
    cudaEventRecord(left_done_, left_);
    work<<<1, 256, 0, right_>>>(y);
#ifdef FIXED
    cudaEventRecord(right_done_, right_);
    cudaStreamWaitEvent(joined, right_done_, 0);
#else
    cudaEventRecord(left_done_, right_);  // FIRES: event-rerecord
#endif
    cudaStreamWaitEvent(joined, left_done_, 0);
  }

 private:
  cudaStream_t left_, right_;
  cudaEvent_t left_done_, right_done_;
};
