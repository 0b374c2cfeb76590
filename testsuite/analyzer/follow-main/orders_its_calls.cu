// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two streams of the caller's may be one, and the caller may wait between two calls. But a class that lets one stream wait
// for the other takes them for two; and one that waits in a call for an event of an earlier call does not count on its
// caller. Silent: a class that orders nothing between calls, and one whose caller waits.
#include <cuda_runtime.h>

#include <map>
#include <vector>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void drain(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Scratch {
 public:
  ~Scratch() {
    cudaDeviceSynchronize();
    for (auto& [size, block] : blocks_) cudaFree(block);
  }
  float* of(size_t size) {
    float*& block = blocks_[size];
    if (block == nullptr) cudaMalloc(&block, size);
    return block;
  }

 private:
  std::map<size_t, float*> blocks_;
};

// Two slots in turns, each of which is waited for before it is used again; the scratch block is one for all.
class Resampler {
 public:
  Resampler(Scratch& scratch, cudaStream_t in, cudaStream_t out) : in_(in), out_(out), slots_(2) {
#ifdef FIXED
    scratch_in_ = scratch.of(4096);
    scratch_out_ = scratch.of(8192);
#else
    scratch_in_ = scratch_out_ = scratch.of(4096);
#endif
    for (Slot& slot : slots_) {
      cudaMalloc(&slot.data, 4096);
      cudaEventCreateWithFlags(&slot.ready, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&slot.used, cudaEventDisableTiming);
    }
  }
  void resample(const float* from, float* to) {
    Slot& slot = slots_[turn_++ % slots_.size()];
    cudaStreamWaitEvent(in_, slot.used, 0);
    fill<<<1, 32, 0, in_>>>(scratch_in_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'fill' on another stream of the caller's may write 'block' while kernel 'fill' on a stream of the caller's still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+10]]:5: note: 'block' is written here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE+11]]:5: note: event 'slot.used' is recorded here, after the write, but another stream of the caller's does not wait for it
// CHECK-NOTES: :[[@LINE-31]]:27: note: 'block' is allocated here
// CHECK-NOTES: :[[@LINE-16]]:42: note: in the call to 'of' here
// CHECK-NOTES: :[[@LINE-22]]:98: note: in the call to 'Resampler' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: let another stream of the caller's wait for event 'slot.used' with cudaStreamWaitEvent before kernel 'fill'
// CHECK-NOTES: :[[@LINE-8]]:5: note: an object of 'Resampler' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    drain<<<1, 32, 0, in_>>>(from, slot.data);
    cudaEventRecord(slot.ready, in_);
    cudaStreamWaitEvent(out_, slot.ready, 0);
    fill<<<1, 32, 0, out_>>>(scratch_out_);
    drain<<<1, 32, 0, out_>>>(slot.data, to);
    cudaEventRecord(slot.used, out_);
  }

 private:
  struct Slot {
    float* data = nullptr;
    cudaEvent_t ready = nullptr, used = nullptr;
  };
  cudaStream_t in_, out_;
  std::vector<Slot> slots_;
  float *scratch_in_ = nullptr, *scratch_out_ = nullptr;
  unsigned turn_ = 0;
};

// Nothing is said about two calls: whoever calls it may wait.
class Once {
 public:
  Once(Scratch& scratch, cudaStream_t in, cudaStream_t out) : in_(in), out_(out), kept_(scratch.of(1024)) {
    cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming);
  }
  void copy(const float* from, float* to) {
    drain<<<1, 32, 0, in_>>>(from, kept_);
    cudaEventRecord(ready_, in_);
    cudaStreamWaitEvent(out_, ready_, 0);
    drain<<<1, 32, 0, out_>>>(kept_, to);
  }

 private:
  cudaStream_t in_, out_;
  float* kept_;
  cudaEvent_t ready_ = nullptr;
};
