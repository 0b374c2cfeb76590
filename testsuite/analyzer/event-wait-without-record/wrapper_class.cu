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
    cudaStreamWaitEvent(s, event_, 0);  // FIRES: event-wait-without-record
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
