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
    cudaEventElapsedTime(&ms, begin_, end_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaEventElapsedTime of event 'timer.end_', which may not be complete: nothing has waited for it [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE+20]]:10: note: in the call to 'Timer::elapsed' here
// CHECK-NOTES: :[[@LINE-9]]:31: note: event 'timer.end_' is recorded here on stream 's'
// CHECK-NOTES: :[[@LINE+17]]:3: note: in the call to 'Timer::stop' here
// CHECK-NOTES: :[[@LINE-18]]:5: note: event 'timer.end_' is created here
// CHECK-NOTES: :[[@LINE+12]]:9: note: in the call to 'Timer::Timer' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: wait for event 'timer.end_' with cudaEventSynchronize before
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
