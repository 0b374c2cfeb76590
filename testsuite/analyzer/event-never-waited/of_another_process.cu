// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-never-waited %s
// RUN: %check event-never-waited %s -- -DFIXED
//
// An event that another process has sent is opened and closed again, and no stream waits for it in between. One that is
// waited for, asked about, given away or kept is none of our business.
#include <cuda_runtime.h>

void remember(cudaEvent_t event);

class Arrived {
 public:
  explicit Arrived(const cudaIpcEventHandle_t& sent) { cudaIpcOpenEventHandle(&event_, sent); }
  ~Arrived() {
    cudaEventDestroy(event_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: event 'arrived.event_' of another process is opened and destroyed, and nothing waits for it in between [streamsan-event-never-waited]
// CHECK-NOTES: :[[@LINE+19]]:1: note: 'arrived' goes out of scope here
// CHECK-NOTES: :[[@LINE-5]]:56: note: event 'arrived.event_' is opened here
// CHECK-NOTES: :[[@LINE+11]]:11: note: in the call to 'Arrived::Arrived' here
// CHECK-NOTES: :[[@LINE-5]]:5: note: let the stream that uses the other process's memory wait for event 'arrived.event_' with cudaStreamWaitEvent
// CHECK-NOTES: :[[@LINE+22]]:3: note: in the call to 'move_pages' here
  }
  void hold_up(cudaStream_t stream) const { cudaStreamWaitEvent(stream, event_, 0); }

 private:
  cudaEvent_t event_ = nullptr;
};

static void move_pages(const cudaIpcEventHandle_t& sent, float* to, const float* from, bool behind, cudaStream_t stream) {
  Arrived arrived(sent);
#ifndef FIXED
  if (behind)
#endif
    arrived.hold_up(stream);
  cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, stream);
}

void fetch(const cudaIpcEventHandle_t& sent, float* to, const float* from, cudaStream_t stream) {
  move_pages(sent, to, from, true, stream);
}

void refill(const cudaIpcEventHandle_t& sent, float* to, const float* from, cudaStream_t stream) {
  move_pages(sent, to, from, false, stream);
}

void asked(const cudaIpcEventHandle_t& sent) {
  cudaEvent_t event;
  cudaIpcOpenEventHandle(&event, sent);
  while (cudaEventQuery(event) != cudaSuccess) {
  }
  cudaEventDestroy(event);
}

void given_away(const cudaIpcEventHandle_t& sent) {
  cudaEvent_t event;
  cudaIpcOpenEventHandle(&event, sent);
  remember(event);
  cudaEventDestroy(event);
}
