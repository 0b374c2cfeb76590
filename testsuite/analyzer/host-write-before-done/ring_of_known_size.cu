// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// Staging slots in turn: the number of slots is the size of a std::array, the end of a comparison, or a number that the
// constructor is given.
#include <cuda_runtime.h>

#include <array>
#include <cstring>
#include <vector>

struct Slot {
  float* host;
  float* device;
  cudaEvent_t sent;
};

class ByArray {
 public:
  explicit ByArray(size_t bytes) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    for (auto& s : slots_) {
      cudaMallocHost(&s.host, bytes);
      cudaMalloc(&s.device, bytes);
      cudaEventCreateWithFlags(&s.sent, cudaEventDisableTiming);
    }
  }
  void push(const float* source, size_t bytes) {
    Slot& s = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
#ifdef FIXED
    cudaEventSynchronize(s.sent);
#endif
    std::memcpy(s.host, source, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'this->slots_[0].host' while cudaMemcpyAsync (host to device) on stream 'this->stream_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+5]]:5: note: 'this->slots_[0].host' is read here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:7: note: 'this->slots_[0].host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: wait for stream 'this->stream_' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'ByArray::push' is called 4 times: no method of the class waits in between, and no other code has the stream
    cudaMemcpyAsync(s.device, s.host, bytes, cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(s.sent, stream_);
  }

 private:
  size_t next_ = 0;
  cudaStream_t stream_;
  std::array<Slot, 3> slots_;
};

class ByNumber {
 public:
  ByNumber(unsigned depth, size_t bytes) : pages_(depth) {
    cudaStreamCreateWithFlags(&lane_, cudaStreamNonBlocking);
    for (Slot& page : pages_) {
      cudaMallocHost(&page.host, bytes);
      cudaMalloc(&page.device, bytes);
      cudaEventCreateWithFlags(&page.sent, cudaEventDisableTiming);
    }
  }
  void submit(const float* frame, size_t bytes) {
    Slot& page = pages_[turn_++ % pages_.size()];
#ifdef FIXED
    cudaEventSynchronize(page.sent);
#endif
    std::memcpy(page.host, frame, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'this->pages_[0].host' while cudaMemcpyAsync (host to device) on stream 'this->lane_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+5]]:5: note: 'this->pages_[0].host' is read here, on stream 'this->lane_'
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->lane_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:7: note: 'this->pages_[0].host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: wait for stream 'this->lane_' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-11]]:8: note: if 'ByNumber::submit' is called 3 times and 'this->pages_.size()' is 2: no method of the class waits in between, and no other code has the stream
    cudaMemcpyAsync(page.device, page.host, bytes, cudaMemcpyHostToDevice, lane_);
    cudaEventRecord(page.sent, lane_);
  }

 private:
  std::vector<Slot> pages_;
  unsigned turn_ = 0;
  cudaStream_t lane_;
};

class ByComparison {
 public:
  explicit ByComparison(size_t bytes) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    for (int i = 0; i < 2; ++i) {
      cudaMallocHost(&host_[i], bytes);
      cudaMalloc(&device_[i], bytes);
      cudaEventCreateWithFlags(&free_[i], cudaEventDisableTiming);
    }
  }
  void add(const float* values, size_t bytes) {
    const int slot = which_;
    if (++which_ == 2) which_ = 0;
#ifdef FIXED
    cudaEventSynchronize(free_[slot]);
#endif
    std::memcpy(host_[slot], values, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'this->host_[0]' while cudaMemcpyAsync (host to device) on stream 'this->stream_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'this->host_[0]' is read here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE+6]]:5: note: event 'this->free_[0]' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-17]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:7: note: 'this->host_[0]' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: wait for event 'this->free_[0]' with cudaEventSynchronize, or for all of stream 'this->stream_' with cudaStreamSynchronize, before the write
// CHECK-NOTES: :[[@LINE-13]]:8: note: if 'ByComparison::add' is called 3 times: no method of the class waits in between, and no other code has the stream
    cudaMemcpyAsync(device_[slot], host_[slot], bytes, cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(free_[slot], stream_);
  }

 private:
  cudaStream_t stream_;
  float* host_[2];
  float* device_[2];
  cudaEvent_t free_[2];
  int which_ = 0;
};
