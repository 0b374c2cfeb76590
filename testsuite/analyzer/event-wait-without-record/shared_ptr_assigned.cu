// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// A shared_ptr that is assigned and reset points to something else from then on.
#include <cuda_runtime.h>

#include <memory>

class Event {
 public:
  Event() { cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); }
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { cudaEventRecord(event_, stream); }
  void gate(cudaStream_t stream) { cudaStreamWaitEvent(stream, event_, 0); }

 private:
  cudaEvent_t event_{};
};

struct Ticket {
  std::shared_ptr<Event> ready;
};

__global__ void saw(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void sand(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void plank(float* wood, float* out) {
  cudaStream_t yard, shop;
  cudaStreamCreateWithFlags(&yard, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&shop, cudaStreamNonBlocking);
  Ticket ticket;
  ticket.ready = std::make_shared<Event>();
#ifndef FIXED
  ticket.ready->record(yard);
#endif
  saw<<<1, 256, 0, yard>>>(wood);
#ifdef FIXED
  ticket.ready->record(yard);
#endif
  std::shared_ptr<Event> same;
  same = ticket.ready;
  ticket.ready.reset();
  same->gate(shop);
  sand<<<1, 256, 0, shop>>>(wood, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sand' on stream 'shop' may read 'wood' while kernel 'saw' on stream 'yard' still writes it: event 'same->event_', which it waits for, was recorded before that [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'wood' is written here, on stream 'yard'
// CHECK-NOTES: :[[@LINE-34]]:38: note: event 'same->event_' is recorded here, before the write: a wait for it does not cover the write
// CHECK-NOTES: :[[@LINE-14]]:3: note: in the call to 'Event::record' here
// CHECK-NOTES: :[[@LINE-20]]:3: note: stream 'yard' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:3: note: stream 'shop' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:3: note: record event 'same->event_' in stream 'yard' after the write, before stream 'shop' waits for it
  cudaStreamSynchronize(shop);
}
