// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): a function gets an array and how many it has, and asks of each whether its pointer is nullptr: some are.
// Such a mark ends a day of rain, and the next one begins with the first half, which may still be read.
#include <cuda_runtime.h>

#include <stdexcept>

__global__ void clean(const float* samples, float* half, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) half[i] = fmaxf(samples[i], 0.0f);
}
__global__ void total(const float* half, float* sum, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(sum, half[i]);
}

struct Block {
  const float* samples;  // nullptr: the day is over
  int count;
};

class Meter {
 public:
  explicit Meter(int room) : room_(room) {
    cudaStreamCreateWithFlags(&write_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&read_, cudaStreamNonBlocking);
    for (int i = 0; i < 2; ++i) {
      cudaMalloc(&halves_[i], room * sizeof(float));
      cudaEventCreateWithFlags(&written_[i], cudaEventDisableTiming);
      cudaEventCreateWithFlags(&emptied_[i], cudaEventDisableTiming);
    }
    cudaMalloc(&sum_, sizeof(float));
  }
  ~Meter() {
    cudaStreamSynchronize(write_);
    cudaStreamSynchronize(read_);
    for (float* half : halves_) cudaFree(half);
    cudaFree(sum_);
  }
  Meter(const Meter&) = delete;

  void add(const Block& block) {
    if (block.count > room_) throw std::length_error("more than a half");
    if (used_ + block.count > room_) {
      read();
      begin(1 - active_);
    }
    clean<<<(block.count + 255) / 256, 256, 0, write_>>>(block.samples, halves_[active_] + used_, block.count);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'clean' on stream 'write_' may write 'halves_[i]' while kernel 'total' on stream 'read_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+47]]:13: note: in the call to 'add' here
// CHECK-NOTES: :[[@LINE+25]]:5: note: 'halves_[i]' is read here, on stream 'read_'
// CHECK-NOTES: :[[@LINE+12]]:5: note: in the call to 'read' here
// CHECK-NOTES: :[[@LINE+42]]:13: note: in the call to 'end_of_day' here
// CHECK-NOTES: :[[@LINE+23]]:5: note: event 'emptied_[i]' is recorded here, after the read, but stream 'write_' does not wait for it
// CHECK-NOTES: :[[@LINE-29]]:5: note: stream 'read_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-32]]:42: note: in the call to 'Meter' here
// CHECK-NOTES: :[[@LINE-32]]:5: note: stream 'write_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-30]]:7: note: 'halves_[i]' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:5: note: let stream 'write_' wait for event 'emptied_[i]' with cudaStreamWaitEvent before kernel 'clean'
// CHECK-NOTES: :[[@LINE-12]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
    used_ += block.count;
  }
  void end_of_day() {
    read();
#ifdef FIXED
    begin(0);
#else
    active_ = used_ = 0;
#endif
  }

 private:
  void read() {
    cudaEventRecord(written_[active_], write_);
    cudaStreamWaitEvent(read_, written_[active_], 0);
    total<<<1, 256, 0, read_>>>(halves_[active_], sum_, used_);
    cudaEventRecord(emptied_[active_], read_);
  }
  void begin(int half) {
    active_ = half;
    used_ = 0;
    cudaStreamWaitEvent(write_, emptied_[half], 0);
  }

  int room_, active_ = 0, used_ = 0;
  cudaStream_t write_ = nullptr, read_ = nullptr;
  float* halves_[2] = {};
  cudaEvent_t written_[2] = {}, emptied_[2] = {};
  float* sum_ = nullptr;
};

void run(Meter& meter, const Block* blocks, int count) {
  for (int i = 0; i < count; ++i) {
    if (blocks[i].samples == nullptr)
      meter.end_of_day();
    else
      meter.add(blocks[i]);
  }
}
