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
  consume<<<1, 256, 0, back>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'back.stream_' may read 'data' while kernel 'produce' on stream 'front.stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'data' is written here, on stream 'front.stream_'
// CHECK-NOTES: :[[@LINE-28]]:14: note: stream 'front.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:10: note: in the call to 'Stream::Stream' here
// CHECK-NOTES: :[[@LINE-30]]:14: note: stream 'back.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:17: note: in the call to 'Stream::Stream' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'back.stream_' after stream 'front.stream_': record an event in stream 'front.stream_' after the write and let stream 'back.stream_' wait for it with cudaStreamWaitEvent before kernel 'consume'
  back.synchronize();
  front.synchronize();
}
