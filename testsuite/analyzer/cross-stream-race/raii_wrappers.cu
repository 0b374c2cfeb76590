// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams and events behind RAII wrappers with conversion operators and member functions.
#include <cuda_runtime.h>

#include <utility>

class Event {
 public:
  Event() { cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_{};
};

class Stream {
 public:
  Stream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  ~Stream() {
    if (stream_) cudaStreamDestroy(stream_);
  }
  operator cudaStream_t() const { return stream_; }
  void record(const Event& e) const { cudaEventRecord(e.get(), stream_); }
  void wait(const Event& e) const { cudaStreamWaitEvent(stream_, e.get(), 0); }
  void synchronize() const { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_{};
};

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  Stream front, back;
  Event ready;
  produce<<<1, 256, 0, front>>>(data);
#ifdef FIXED
  front.record(ready);
  back.wait(ready);
#endif
  consume<<<1, 256, 0, back>>>(data, out);  // FIRES: cross-stream-race
  back.synchronize();
  front.synchronize();
}
