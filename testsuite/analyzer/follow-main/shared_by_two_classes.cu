// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,premature-free %s
// RUN: %check cross-stream-race,premature-free %s -- -DFIXED
//
// No main(): objects of two classes share a third one, and nobody else can wait for their streams.
#include <cuda_runtime.h>

#include <deque>
#include <mutex>
#include <optional>

__global__ void expand(const char* packed, float* out) { out[threadIdx.x] = packed[threadIdx.x]; }
__global__ void add(const float* in, float* sum) { sum[threadIdx.x] += in[threadIdx.x]; }

struct Part {
  float* values = nullptr;
  cudaEvent_t ready = nullptr;
};

class Queue {
 public:
  void push(Part part) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parts_.push_back(part);
  }
  std::optional<Part> pop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parts_.empty()) return std::nullopt;
    const Part part = parts_.front();
    parts_.pop_front();
    return part;
  }

 private:
  std::mutex mutex_;
  std::deque<Part> parts_;
};

class Receiver {
 public:
  explicit Receiver(Queue& queue) : queue_(queue) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Receiver() { cudaStreamSynchronize(stream_); }
  void receive(const char* packed) {
    Part part;
    cudaMallocAsync(reinterpret_cast<void**>(&part.values), 256 * sizeof(float), stream_);
    cudaEventCreateWithFlags(&part.ready, cudaEventDisableTiming);
    expand<<<1, 256, 0, stream_>>>(packed, part.values);
    cudaEventRecord(part.ready, stream_);
    queue_.push(part);
  }

 private:
  Queue& queue_;
  cudaStream_t stream_ = nullptr;
};

class Adder {
 public:
  explicit Adder(Queue& queue) : queue_(queue) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&sum_, 256 * sizeof(float));
  }
  ~Adder() { cudaStreamSynchronize(stream_); }
  bool next() {
    const std::optional<Part> part = queue_.pop();
    if (!part) return false;
#ifdef FIXED
    cudaStreamWaitEvent(stream_, part->ready, 0);
#endif
    add<<<1, 256, 0, stream_>>>(part->values, sum_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'add' on stream 'Adder::stream_' may read 'part.values' while kernel 'expand' on stream 'Receiver::stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-25]]:5: note: 'part.values' is written here, on stream 'Receiver::stream_'
// CHECK-NOTES: :[[@LINE-25]]:5: note: event 'part.ready' is recorded here, after the write, but stream 'Adder::stream_' does not wait for it
// CHECK-NOTES: :[[@LINE-33]]:53: note: stream 'Receiver::stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-34]]:51: note: in the call to 'Receiver' here
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 'Adder::stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:48: note: in the call to 'Adder' here
// CHECK-NOTES: :[[@LINE-33]]:5: note: 'part.values' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:5: note: let stream 'Adder::stream_' wait for event 'part.ready' with cudaStreamWaitEvent before kernel 'add'
// CHECK-NOTES: :[[@LINE-10]]:5: note: an object of 'Adder' was made, and its public methods were called, each several times, in the order in which they stand, each time after those of an object of 'Receiver' that shares another one with it (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaFreeAsync(part->values, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: 'part.values' is freed by cudaFreeAsync on stream 'Adder::stream_' while kernel 'expand' on stream 'Receiver::stream_' still writes it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-36]]:5: note: 'part.values' is written here, on stream 'Receiver::stream_'
// CHECK-NOTES: :[[@LINE-36]]:5: note: event 'part.ready' is recorded here, after the write, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-44]]:53: note: stream 'Receiver::stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-45]]:51: note: in the call to 'Receiver' here
// CHECK-NOTES: :[[@LINE-42]]:5: note: 'part.values' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: free it on stream 'Receiver::stream_', or let stream 'Adder::stream_' wait for it first: record an event in stream 'Receiver::stream_' after the write and use cudaStreamWaitEvent
// CHECK-NOTES: :[[@LINE-8]]:5: note: an object of 'Adder' was made, and its public methods were called, each several times, in the order in which they stand, each time after those of an object of 'Receiver' that shares another one with it (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    return true;
  }

 private:
  Queue& queue_;
  cudaStream_t stream_ = nullptr;
  float* sum_ = nullptr;
};

/// What both are given, and neither hands to the other, may be used by the one when the other is gone.
class Slot {
 public:
  Slot() { cudaMalloc(&values_, 256 * sizeof(float)); }
  float* values() const { return values_; }

 private:
  float* values_ = nullptr;
};

class Writer {
 public:
  explicit Writer(Slot& slot) : slot_(slot) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Writer() { cudaStreamSynchronize(stream_); }
  void write(const char* packed) { expand<<<1, 256, 0, stream_>>>(packed, slot_.values()); }

 private:
  Slot& slot_;
  cudaStream_t stream_ = nullptr;
};

class Reader {
 public:
  explicit Reader(Slot& slot) : slot_(slot) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  void read(float* sum) {
    add<<<1, 256, 0, stream_>>>(slot_.values(), sum);
    cudaStreamSynchronize(stream_);
  }

 private:
  Slot& slot_;
  cudaStream_t stream_ = nullptr;
};

/// So may memory that a plain struct names.
struct View {
  float* values;
};

class Expander {
 public:
  explicit Expander(const View& view) : view_(view) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  void run(const char* packed) { expand<<<1, 256, 0, stream_>>>(packed, view_.values); }

 private:
  const View& view_;
  cudaStream_t stream_ = nullptr;
};

class Summer {
 public:
  explicit Summer(const View& view) : view_(view) { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  void run(float* sum) { add<<<1, 256, 0, stream_>>>(view_.values, sum); }

 private:
  const View& view_;
  cudaStream_t stream_ = nullptr;
};
