// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// The records are in one function, and the wait is in another one that sees the event through another object.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

class Stage {
 public:
  Stage() {
    cudaStreamCreateWithFlags(&upper_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&lower_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&lower_ready_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming);
  }

  void produce(float* x, float* y) {
    work<<<1, 256, 0, upper_>>>(x);
    cudaEventRecord(ready_, upper_);
    work<<<1, 256, 0, lower_>>>(y);
#ifdef FIXED
    cudaEventRecord(lower_ready_, lower_);
#else
    cudaEventRecord(ready_, lower_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: event 'this->ready_' is recorded again on stream 'this->lower_' before anything waited for its record on stream 'this->upper_': a wait covers only the last record [streamsan-event-rerecord]
// CHECK-NOTES: :[[@LINE-7]]:5: note: event 'this->ready_' is recorded here first on stream 'this->upper_'
// CHECK-NOTES: :[[@LINE+7]]:5: note: this wait does not cover what stream 'this->upper_' did
// CHECK-NOTES: :[[@LINE-16]]:5: note: event 'this->ready_' is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: use one event for each record, or wait for the first before this one
#endif
  }

  void follow(const Stage& producer, float* x) {
    cudaStreamWaitEvent(upper_, producer.ready_, 0);
#ifdef FIXED
    cudaStreamWaitEvent(upper_, producer.lower_ready_, 0);
#endif
    work<<<1, 256, 0, upper_>>>(x);
  }

  // Nobody waits for it.
  void marks(float* x, float* y) {
    work<<<1, 256, 0, upper_>>>(x);
    cudaEventRecord(mark_, upper_);
    work<<<1, 256, 0, lower_>>>(y);
    cudaEventRecord(mark_, lower_);
  }

  // The second record covers the first: its stream has waited.
  void in_turn(float* x) {
    work<<<1, 256, 0, upper_>>>(x);
    cudaEventRecord(ready_, upper_);
    cudaStreamWaitEvent(lower_, ready_, 0);
    work<<<1, 256, 0, lower_>>>(x);
    cudaEventRecord(ready_, lower_);
  }

  // Each of the two is right for those who call it alone.
  void first(float* x) {
    work<<<1, 256, 0, upper_>>>(x);
    cudaEventRecord(ready_, upper_);
  }
  void second(float* x) {
    work<<<1, 256, 0, lower_>>>(x);
    cudaEventRecord(ready_, lower_);
  }
  void both(float* x, float* y) {
    first(x);
    second(y);
  }

 private:
  cudaStream_t upper_, lower_;
  cudaEvent_t ready_, lower_ready_, mark_;
};
