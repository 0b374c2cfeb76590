// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// An event wrapper: record() is forgotten, wait_in() is called.
#include <cuda_runtime.h>

class Event {
 public:
  Event() { cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); }
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t s) { cudaEventRecord(event_, s); }
  void wait_in(cudaStream_t s) const {
    cudaStreamWaitEvent(s, event_, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: stream 'b' waits for event 'ready.event_', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+18]]:3: note: in the call to 'Event::wait_in' here
// CHECK-NOTES: :[[@LINE-7]]:13: note: event 'ready.event_' is created here
// CHECK-NOTES: :[[@LINE+11]]:9: note: in the call to 'Event::Event' here
// CHECK-NOTES: :[[@LINE-5]]:5: note: record event 'ready.event_' with cudaEventRecord before the wait
  }

 private:
  cudaEvent_t event_;
};

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* data, cudaStream_t a, cudaStream_t b) {
  Event ready;
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  ready.record(a);
#endif
  ready.wait_in(b);
}
