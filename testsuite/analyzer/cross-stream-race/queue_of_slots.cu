// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Slots that go from one queue to another and back: with so many of them that are made here, the first one is used
// again in a later round.
#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <queue>
#include <utility>

__global__ void render(float* out, int round) { out[threadIdx.x] = round; }

struct Slot {
  float* pixels = nullptr;
  cudaEvent_t drawn = nullptr;
  cudaEvent_t sent = nullptr;
};

class Renderer {
 public:
  explicit Renderer(int slots) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    for (int i = 0; i < slots; ++i) {
      auto slot = std::make_unique<Slot>();
      cudaMalloc(&slot->pixels, 1024);
      cudaEventCreateWithFlags(&slot->drawn, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&slot->sent, cudaEventDisableTiming);
      idle_.push_back(std::move(slot));
    }
  }
  void draw(int round) {
    std::unique_ptr<Slot> slot = std::move(idle_.front());
    idle_.pop_front();
#ifdef FIXED
    cudaStreamWaitEvent(stream_, slot->sent, 0);
#endif
    render<<<1, 256, 0, stream_>>>(slot->pixels, round);  // FIRES: cross-stream-race
    cudaEventRecord(slot->drawn, stream_);
    shown_.push(std::move(slot));
  }
  void send(float* to, cudaStream_t network) {
    Slot& slot = *shown_.front();
    cudaStreamWaitEvent(network, slot.drawn, 0);
    cudaMemcpyAsync(to, slot.pixels, 1024, cudaMemcpyDeviceToDevice, network);
    cudaEventRecord(slot.sent, network);
    idle_.push_back(std::move(shown_.front()));
    shown_.pop();
  }

 private:
  cudaStream_t stream_;
  std::deque<std::unique_ptr<Slot>> idle_;
  std::queue<std::unique_ptr<Slot>> shown_;
};

void play(float* to) {
  cudaStream_t network;
  cudaStreamCreateWithFlags(&network, cudaStreamNonBlocking);
  Renderer renderer(2);
  for (int round = 0; round < 4; ++round) {
    renderer.draw(round);
    renderer.send(to + round * 256, network);
  }
}
