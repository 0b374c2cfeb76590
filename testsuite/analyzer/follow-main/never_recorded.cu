// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// No main(): an event that a function makes and a std::unique_ptr keeps. The show waits for it, and nobody records it.
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <type_traits>

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Event make_event() {
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) throw std::runtime_error("no event");
  return Event(event);
}

__global__ void paint(const float* slide, float* wall) { wall[threadIdx.x] = slide[threadIdx.x]; }

class Projector {
 public:
  explicit Projector(int pixels) : bytes_(pixels * sizeof(float)), loaded_(make_event()) {
    cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&show_, cudaStreamNonBlocking);
    cudaMalloc(&slide_, bytes_);
    cudaMalloc(&wall_, bytes_);
  }
  ~Projector() {
    cudaDeviceSynchronize();
    cudaFree(slide_);
    cudaFree(wall_);
    cudaStreamDestroy(load_);
    cudaStreamDestroy(show_);
  }
  Projector(const Projector&) = delete;

  void slide(const float* pinned) {
    cudaMemcpyAsync(slide_, pinned, bytes_, cudaMemcpyHostToDevice, load_);
#ifdef FIXED
    cudaEventRecord(loaded_.get(), load_);
#endif
    cudaStreamWaitEvent(show_, loaded_.get(), 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: stream 'show_' waits for event 'event', which nothing ever records: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-30]]:7: note: event 'event' is declared here
// CHECK-NOTES: :[[@LINE-23]]:76: note: in the call to 'make_event' here
// CHECK-NOTES: :[[@LINE-24]]:90: note: in the call to 'Projector' here
// CHECK-NOTES: :[[@LINE-5]]:5: note: record event 'event' with cudaEventRecord behind the work that is to be waited for
// CHECK-NOTES: :[[@LINE-6]]:5: note: an object of 'Projector' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    paint<<<1, 256, 0, show_>>>(slide_, wall_);
    cudaStreamSynchronize(show_);
  }

 private:
  size_t bytes_;
  Event loaded_;
  cudaStream_t load_ = nullptr, show_ = nullptr;
  float *slide_ = nullptr, *wall_ = nullptr;
};
