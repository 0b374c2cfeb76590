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
    cudaEventRecord(left_done_, right_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: event 'this->left_done_' is recorded again on stream 'this->right_' before anything waited for its record on stream 'this->left_': a wait covers only the last record [streamsan-event-rerecord]
// CHECK-NOTES: :[[@LINE-8]]:5: note: event 'this->left_done_' is recorded here first on stream 'this->left_'
// CHECK-NOTES: :[[@LINE+4]]:5: note: this wait does not cover what stream 'this->left_' did
// CHECK-NOTES: :[[@LINE-15]]:5: note: event 'this->left_done_' is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: use one event for each record, or wait for the first before this one
#endif
    cudaStreamWaitEvent(joined, left_done_, 0);
  }

 private:
  cudaStream_t left_, right_;
  cudaEvent_t left_done_, right_done_;
};
