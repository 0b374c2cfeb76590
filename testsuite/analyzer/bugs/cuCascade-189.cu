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
  cudaStreamWaitEvent(next, pool.get(), 0);  // FIRES: event-wait-without-record
  cudaStreamSynchronize(next);
}
