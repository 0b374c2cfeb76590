// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// An object that is passed by value ends once: where its function returns, or, if that is not in sight, with the call.
#include <cuda_runtime.h>

#include <utility>

class Event {
 public:
  Event() { cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }
  void record(cudaStream_t stream) { cudaEventRecord(event_, stream); }
  void block(cudaStream_t stream) { cudaStreamWaitEvent(stream, event_, 0); }

 private:
  cudaEvent_t event_ = nullptr;
};

struct Pending {
  float* values = nullptr;
  Event complete;
};

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void use(float* x) { x[threadIdx.x] += 1.0f; }

Pending start(float* x, cudaStream_t side) {
  Pending pending;
  fill<<<1, 32, 0, side>>>(x);
  pending.values = x;
  pending.complete.record(side);
  return pending;
}

float* take(Pending pending, cudaStream_t stream) {
  pending.complete.block(stream);
  return pending.values;
}

void moved_in(float* x, cudaStream_t side, cudaStream_t stream) {
  Pending pending = start(x, side);
  use<<<1, 32, 0, stream>>>(take(std::move(pending), stream));
}

void made_in_place(float* x, cudaStream_t side, cudaStream_t stream) {
  use<<<1, 32, 0, stream>>>(take(start(x, side), stream));
}

void ended(float* x, cudaStream_t side, cudaStream_t stream) {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, side);
#ifndef FIXED
  cudaEventDestroy(event);
#endif
  cudaStreamWaitEvent(stream, event, 0);  // FIRES: handle-use-after-destroy
  use<<<1, 32, 0, stream>>>(x);
#ifdef FIXED
  cudaEventDestroy(event);
#endif
}
