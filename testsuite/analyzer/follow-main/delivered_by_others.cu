// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): an inbox that a mixer takes sound from. Nobody here delivers any, so others do. A packet is taken while
// its upload goes on, in a stream that the inbox keeps to itself.
#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

__global__ void add(const float* sound, float* mix, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) mix[i] += sound[i];
}

struct Packet {
  float* samples = nullptr;
  int count = 0;
  cudaEvent_t ready = nullptr;
};

class Inbox {
 public:
  ~Inbox() {
    for (cudaStream_t stream : streams_) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
  }

  void deliver(const float* samples, int count) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    Packet packet;
    packet.count = count;
    cudaMallocAsync(reinterpret_cast<void**>(&packet.samples), count * sizeof(float), stream);
    cudaEventCreateWithFlags(&packet.ready, cudaEventDisableTiming);
    cudaMemcpyAsync(packet.samples, samples, count * sizeof(float), cudaMemcpyHostToDevice, stream);
    cudaEventRecord(packet.ready, stream);
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(stream);
    packets_.push_back(packet);
  }
  bool take(Packet& packet) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (packets_.empty()) return false;
    packet = packets_.front();
    packets_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<cudaStream_t> streams_;
  std::deque<Packet> packets_;
};

class Mixer {
 public:
  Mixer(std::shared_ptr<Inbox> inbox, int count) : inbox_(std::move(inbox)) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&mix_, count * sizeof(float));
  }
  ~Mixer() {
    cudaStreamSynchronize(stream_);
    cudaFree(mix_);
    cudaStreamDestroy(stream_);
  }
  Mixer(const Mixer&) = delete;

  void mix() {
    Packet packet;
    while (inbox_->take(packet)) {
#ifdef FIXED
      cudaStreamWaitEvent(stream_, packet.ready, 0);
#endif
      add<<<(packet.count + 255) / 256, 256, 0, stream_>>>(packet.samples, mix_, packet.count);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: kernel 'add' on stream 'stream_' may read 'packet.samples' while cudaMemcpyAsync on stream 'stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-41]]:5: note: 'packet.samples' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-41]]:5: note: event 'packet.ready' is recorded here, after the write, but stream 'stream_' does not wait for it
// CHECK-NOTES: :[[@LINE-48]]:5: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:5: note: stream 'stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-23]]:77: note: in the call to 'Mixer' here
// CHECK-NOTES: :[[@LINE-48]]:5: note: 'packet.samples' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:7: note: let stream 'stream_' wait for event 'packet.ready' with cudaStreamWaitEvent before kernel 'add'
// CHECK-NOTES: :[[@LINE-9]]:7: note: an object of 'Mixer' was made, and its public methods were called, each several times, in the order in which they stand, each time after those of the objects that it was given (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
      cudaFreeAsync(packet.samples, stream_);
      cudaEventDestroy(packet.ready);
    }
  }

 private:
  std::shared_ptr<Inbox> inbox_;
  cudaStream_t stream_ = nullptr;
  float* mix_ = nullptr;
};
