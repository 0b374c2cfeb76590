// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// A class template keeps an event for each of its parts, and takes the work as a closure. Nothing records the event. What
// is instantiated nowhere is used nowhere.
#include <cuda_runtime.h>

#include <vector>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void use(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

template <typename Data>
class OnFirstUse {
 public:
  explicit OnFirstUse(int parts) : parts_(parts) {
    for (Part& part : parts_) cudaEventCreateWithFlags(&part.filled, cudaEventDisableTiming);
  }
  OnFirstUse(const OnFirstUse&) = delete;
  ~OnFirstUse() {
    for (Part& part : parts_) cudaEventDestroy(part.filled);
  }

  template <typename Fill>
  Data get(int number, cudaStream_t stream, Fill filler) {
    Part& part = parts_[number];
    if (part.by == nullptr) {
      filler(part.data, stream);
      part.by = stream;
#ifdef FIXED
      cudaEventRecord(part.filled, stream);
#endif
    } else if (part.by != stream) {
      cudaStreamWaitEvent(stream, part.filled);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:7: warning: stream 'stream' waits for event 'this->parts_[number].filled', which nothing ever records: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-3]]:7: note: record event 'this->parts_[number].filled' with cudaEventRecord behind the work that is to be waited for
// CHECK-NOTES: :[[@LINE-21]]:31: note: event 'filled' is created here, for its class alone
#endif
    }
    return part.data;
  }

 private:
  struct Part {
    cudaEvent_t filled = nullptr;
    cudaStream_t by = nullptr;
    Data data = nullptr;
  };
  std::vector<Part> parts_;
};

void consume(OnFirstUse<float*>& table, float* y, cudaStream_t stream) {
  const float* x = table.get(0, stream, [](float*& data, cudaStream_t s) {
    cudaMalloc(&data, 1024);
    fill<<<1, 256, 0, s>>>(data);
  });
  use<<<1, 256, 0, stream>>>(x, y);
}

OnFirstUse<float*>* make(int parts) { return new OnFirstUse<float*>(parts); }

// Another part of the class records it: a member that is instantiated.
template <typename Data>
class Recorded {
 public:
  Recorded() { cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming); }
  ~Recorded() { cudaEventDestroy(filled_); }
  void put(Data data, cudaStream_t s) {
    fill<<<1, 256, 0, s>>>(data);
    mark(s);
  }
  void take(cudaStream_t s) { cudaStreamWaitEvent(s, filled_); }

 private:
  void mark(cudaStream_t s) { cudaEventRecord(filled_, s); }
  cudaEvent_t filled_;
};

void hand_over(float* x, float* y, cudaStream_t a, cudaStream_t b) {
  Recorded<float*> slot;
  slot.put(x, a);
  slot.take(b);
  use<<<1, 256, 0, b>>>(x, y);
  cudaStreamSynchronize(b);
}

// A friend may record it.
template <typename Data>
class Shared {
  friend class Elsewhere;
  Data data_;
  cudaEvent_t filled_;

 public:
  Shared() { cudaEventCreate(&filled_); }
  ~Shared() { cudaEventDestroy(filled_); }
  void take(cudaStream_t s) { cudaStreamWaitEvent(s, filled_); }
};

void share(Shared<float*>& slot, cudaStream_t s) { slot.take(s); }
void made() { Shared<float*> slot; }
