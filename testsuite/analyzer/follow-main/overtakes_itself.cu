// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A method that waits for what an earlier call of it has done is made to be called again meanwhile: if callers had to wait
// for the object in between, it would wait for nothing. That the class can be asked whether it is idle changes nothing.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

constexpr int kCount = 1024;

__global__ void energy(const short* samples, float* sums) {
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) sums[i] += samples[i];
}

class Spotter {
 public:
  Spotter() {
    cudaMalloc(&samples_, kCount * sizeof(short));
    cudaMalloc(&sums_, kCount * sizeof(float));
    cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&scored_, cudaEventDisableTiming);
    for (Zone& zone : zones_) {
      cudaMallocHost(&zone.samples, kCount * sizeof(short));
      cudaEventCreateWithFlags(&zone.copied, cudaEventDisableTiming);
    }
  }
  ~Spotter() { cudaDeviceSynchronize(); }
  void push(const short* pcm) {
    Zone& zone = zones_[next_++ % zones_.size()];
    cudaEventSynchronize(zone.copied);
    std::copy(pcm, pcm + kCount, zone.samples);
#ifdef FIXED
    cudaStreamWaitEvent(copy_, scored_, 0);
#endif
    cudaMemcpyAsync(samples_, zone.samples, kCount * sizeof(short), cudaMemcpyHostToDevice, copy_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync on stream 'copy_' may write 'samples_' while kernel 'energy' on stream 'score_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+10]]:5: note: 'samples_' is read here, on stream 'score_'
// CHECK-NOTES: :[[@LINE+10]]:5: note: event 'scored_' is recorded here, after the read, but stream 'copy_' does not wait for it
// CHECK-NOTES: :[[@LINE-19]]:5: note: stream 'score_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-24]]:13: note: in the call to 'Spotter' here
// CHECK-NOTES: :[[@LINE-22]]:5: note: stream 'copy_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-25]]:5: note: 'samples_' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: let stream 'copy_' wait for event 'scored_' with cudaStreamWaitEvent before cudaMemcpyAsync
// CHECK-NOTES: :[[@LINE-9]]:5: note: an object of 'Spotter' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaEventRecord(zone.copied, copy_);
    cudaStreamWaitEvent(score_, zone.copied, 0);
    energy<<<1, 256, 0, score_>>>(samples_, sums_);
    cudaEventRecord(scored_, score_);
  }
  bool idle() const { return cudaEventQuery(scored_) == cudaSuccess; }
  std::vector<float> sums() {
    std::vector<float> result(kCount);
    cudaMemcpyAsync(result.data(), sums_, kCount * sizeof(float), cudaMemcpyDeviceToHost, score_);
    cudaStreamSynchronize(score_);
    return result;
  }

 private:
  struct Zone {
    short* samples = nullptr;
    cudaEvent_t copied = nullptr;
  };
  std::array<Zone, 3> zones_;
  size_t next_ = 0;
  short* samples_ = nullptr;
  float* sums_ = nullptr;
  cudaStream_t copy_ = nullptr, score_ = nullptr;
  cudaEvent_t scored_ = nullptr;
};

/// Callers say which of the slots is meant, and wait for that one.
class Slots {
 public:
  Slots() {
    cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking);
    for (Slot& slot : slots_) {
      cudaMalloc(&slot.samples, kCount * sizeof(short));
      cudaMalloc(&slot.sums, kCount * sizeof(float));
      cudaMallocHost(&slot.staged, kCount * sizeof(short));
      cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&slot.scored, cudaEventDisableTiming);
    }
  }
  ~Slots() { cudaDeviceSynchronize(); }
  void submit(int which, const short* pcm) {
    Slot& slot = slots_[which % 2];
    cudaEventSynchronize(slot.copied);
    std::copy(pcm, pcm + kCount, slot.staged);
    cudaMemcpyAsync(slot.samples, slot.staged, kCount * sizeof(short), cudaMemcpyHostToDevice, copy_);
    cudaEventRecord(slot.copied, copy_);
    cudaStreamWaitEvent(score_, slot.copied, 0);
    energy<<<1, 256, 0, score_>>>(slot.samples, slot.sums);
    cudaEventRecord(slot.scored, score_);
  }
  void wait(int which) { cudaEventSynchronize(slots_[which % 2].scored); }

 private:
  struct Slot {
    short *samples = nullptr, *staged = nullptr;
    float* sums = nullptr;
    cudaEvent_t copied = nullptr, scored = nullptr;
  };
  std::array<Slot, 2> slots_;
  cudaStream_t copy_ = nullptr, score_ = nullptr;
};

/// The wait is for another stream's work, which may be over long before the kernel is.
class WaitsForOthers {
 public:
  WaitsForOthers() {
    cudaMalloc(&samples_, kCount * sizeof(short));
    cudaMalloc(&sums_, kCount * sizeof(float));
    cudaMallocHost(&staged_, kCount * sizeof(short));
    cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&log_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&logged_, cudaEventDisableTiming);
  }
  ~WaitsForOthers() { cudaDeviceSynchronize(); }
  void push() {
    cudaEventSynchronize(logged_);
    cudaMemcpyAsync(samples_, staged_, kCount * sizeof(short), cudaMemcpyHostToDevice, copy_);
    cudaEventRecord(copied_, copy_);
    cudaStreamWaitEvent(score_, copied_, 0);
    energy<<<1, 256, 0, score_>>>(samples_, sums_);
    cudaMemsetAsync(log_memory(), 0, 4, log_);
    cudaEventRecord(logged_, log_);
  }
  void wait() { cudaStreamSynchronize(score_); }

 private:
  int* log_memory() {
    if (entries_ == nullptr) cudaMalloc(&entries_, 4);
    return entries_;
  }
  short *samples_ = nullptr, *staged_ = nullptr;
  float* sums_ = nullptr;
  int* entries_ = nullptr;
  cudaStream_t copy_ = nullptr, score_ = nullptr, log_ = nullptr;
  cudaEvent_t copied_ = nullptr, logged_ = nullptr;
};
