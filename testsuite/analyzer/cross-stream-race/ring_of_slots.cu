// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DEXPOSED
//
// A ring of two slots: the third round fills the first slot again, which the other stream may still read.
#include <cuda_runtime.h>

#if defined(FIXED) && !defined(EXPOSED)
#define REPAIRED
#endif

__global__ void histogram(const float* x, int* bins) { atomicAdd(bins + static_cast<int>(x[threadIdx.x]), 1); }

class Feeder {
 public:
  explicit Feeder(int* bins) : bins_(bins) {
    cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&count_, cudaStreamNonBlocking);
    for (Slot& slot : slots_) {
      cudaMalloc(&slot.data, 1024);
      cudaEventCreateWithFlags(&slot.loaded, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&slot.counted, cudaEventDisableTiming);
    }
  }
  Feeder(const Feeder&) = delete;
  void feed(const float* pinned) {
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) % 2;
#ifdef REPAIRED
    cudaStreamWaitEvent(load_, slot.counted, 0);
#endif
    cudaMemcpyAsync(slot.data, pinned, 1024, cudaMemcpyHostToDevice, load_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (host to device) on stream 'this->load_' may write 'this->slots_[0].data' while kernel 'histogram' on stream 'this->count_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'this->slots_[0].data' is read here, on stream 'this->count_'
// CHECK-NOTES: :[[@LINE+9]]:5: note: event 'this->slots_[0].counted' is recorded here, after the read, but stream 'this->load_' does not wait for it
// CHECK-NOTES: :[[@LINE-18]]:5: note: stream 'this->count_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:5: note: stream 'this->load_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:7: note: 'this->slots_[0].data' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: let stream 'this->load_' wait for event 'this->slots_[0].counted' with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
// CHECK-NOTES: :[[@LINE-14]]:8: note: if 'Feeder::feed' is called 3 times: no method of the class waits in between, and no other code has the stream
    cudaEventRecord(slot.loaded, load_);
    cudaStreamWaitEvent(count_, slot.loaded, 0);
    histogram<<<1, 256, 0, count_>>>(slot.data, bins_);
    cudaEventRecord(slot.counted, count_);
  }
#ifdef EXPOSED
  cudaStream_t counting() const { return count_; }
#endif

 private:
  struct Slot {
    float* data = nullptr;
    cudaEvent_t loaded = nullptr, counted = nullptr;
  };
  Slot slots_[2];
  int next_ = 0;
  int* bins_;
  cudaStream_t load_ = nullptr, count_ = nullptr;
};
