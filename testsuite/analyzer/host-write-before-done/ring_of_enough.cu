// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A ring of as many slots as its constructor is given may have two. One whose constructor makes sure that there are more
// is not taken to have two.
#include <cuda_runtime.h>

#include <vector>

class Any {
 public:
  explicit Any(int slots) : slots_(slots), buffers_(slots_), done_(slots_) {
    for (auto& b : buffers_) cudaMallocHost(&b, 4096);
    for (auto& e : done_) cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaMalloc(&device_, 4096);
    cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking);
  }
  Any(const Any&) = delete;
  void push(float v) {
    int slot = next_ % slots_;
#ifdef FIXED
    cudaEventSynchronize(done_[slot]);
#endif
    buffers_[slot][0] = v;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'this->buffers_[0]' while cudaMemcpyAsync (host to device) on stream 'this->s_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'this->buffers_[0]' is read here, on stream 'this->s_'
// CHECK-NOTES: :[[@LINE+6]]:5: note: event 'this->done_[0]' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'this->s_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:30: note: 'this->buffers_[0]' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: wait for event 'this->done_[0]' with cudaEventSynchronize, or for all of stream 'this->s_' with cudaStreamSynchronize, before the write
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'Any::push' is called 3 times and 'this->slots_' is 2: no method of the class waits in between, and no other code has the stream
    cudaMemcpyAsync(device_, buffers_[slot], 4096, cudaMemcpyHostToDevice, s_);
    cudaEventRecord(done_[slot], s_);
    ++next_;
  }

 private:
  int slots_;
  std::vector<float*> buffers_;
  std::vector<cudaEvent_t> done_;
  float* device_;
  cudaStream_t s_;
  int next_ = 0;
};

class FourAndMore {
 public:
  explicit FourAndMore(int more) : slots_(4 + more), buffers_(slots_), done_(slots_) {
    for (auto& b : buffers_) cudaMallocHost(&b, 4096);
    for (auto& e : done_) cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaMalloc(&device_, 4096);
    cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking);
  }
  FourAndMore(const FourAndMore&) = delete;
  void push(float v) {
    int slot = next_ % slots_;
    if (next_ >= 3) cudaEventSynchronize(done_[(next_ - 3) % slots_]);
    buffers_[slot][0] = v;
    cudaMemcpyAsync(device_, buffers_[slot], 4096, cudaMemcpyHostToDevice, s_);
    cudaEventRecord(done_[slot], s_);
    ++next_;
  }

 private:
  int slots_;
  std::vector<float*> buffers_;
  std::vector<cudaEvent_t> done_;
  float* device_;
  cudaStream_t s_;
  int next_ = 0;
};

class AtLeastThree {
 public:
  explicit AtLeastThree(int slots) : slots_(slots < 3 ? 3 : slots) {
    for (int i = 0; i < slots_; ++i) {
      float* p;
      cudaMallocHost(&p, 4096);
      buffers_.push_back(p);
    }
    cudaMalloc(&device_, 4096);
    cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking);
  }
  AtLeastThree(const AtLeastThree&) = delete;
  void three(float a, float b, float c) {
    one(a);
    one(b);
    one(c);
    cudaStreamSynchronize(s_);
  }

 private:
  void one(float v) {
    float* p = buffers_[next_];
    next_ = (next_ + 1) % slots_;
    p[0] = v;
    cudaMemcpyAsync(device_, p, 4096, cudaMemcpyHostToDevice, s_);
  }
  int slots_, next_ = 0;
  std::vector<float*> buffers_;
  float* device_;
  cudaStream_t s_;
};
