// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// NVIDIA/cuCascade#189, EV: an event of device 0 is recorded in a stream of device 1; the error is dropped, the record
// does not happen.
#include <cuda_runtime.h>

class EventPool {
 public:
  EventPool() {
    cudaSetDevice(0);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_;
};

void return_slab(float* slab, const float* pinned, size_t bytes) {
  EventPool pool;
#ifndef FIXED
  cudaSetDevice(1);
#endif
  cudaStream_t user, next;
  cudaStreamCreate(&user);
  cudaStreamCreate(&next);
  cudaMemcpyAsync(slab, pinned, bytes, cudaMemcpyHostToDevice, user);
  cudaEventRecord(pool.get(), user);
  cudaStreamWaitEvent(next, pool.get(), 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'next' waits for event 'pool.event_', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-3]]:3: note: this record fails: event 'pool.event_' was created on another device than the stream
// CHECK-NOTES: :[[@LINE-21]]:5: note: event 'pool.event_' is created here
// CHECK-NOTES: :[[@LINE-13]]:13: note: in the call to 'EventPool::EventPool' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: create event 'pool.event_' on the device of the stream that it is recorded in
  cudaStreamSynchronize(next);
}
