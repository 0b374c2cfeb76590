// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two halves in turn: the class waits for the other half's event, and goes on with the same half. Its method wait() is
// no excuse, since it orders its streams itself.
#include <cuda_runtime.h>

__global__ void add(const float* part, float* sum) { sum[threadIdx.x] += part[threadIdx.x]; }

class Halves {
 public:
  explicit Halves(float* sum) : sum_(sum) {
    cudaStreamCreateWithFlags(&fill_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming);
    for (int i = 0; i < 2; ++i) {
      cudaMalloc(&half_[i], 1024);
      cudaEventCreateWithFlags(&reduced_[i], cudaEventDisableTiming);
    }
  }
  Halves(const Halves&) = delete;
  void put(const float* part) {
    cudaMemcpyAsync(half_[turn_], part, 1024, cudaMemcpyDeviceToDevice, fill_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->fill_' may write 'this->half_[0]' while kernel 'add' on stream 'this->reduce_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+11]]:5: note: 'this->half_[0]' is read here, on stream 'this->reduce_'
// CHECK-NOTES: :[[@LINE+11]]:5: note: event 'this->reduced_[0]' is recorded here, after the read, but stream 'this->fill_' does not wait for it
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'this->reduce_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->fill_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:7: note: 'this->half_[0]' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: let stream 'this->fill_' wait for event 'this->reduced_[0]' with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-9]]:8: note: if 'Halves::reduce' is followed by 'Halves::put': the class makes the one stream wait for the other elsewhere, but not for this work
  }
  void reduce() {
    cudaEventRecord(filled_, fill_);
    cudaStreamWaitEvent(reduce_, filled_, 0);
    add<<<1, 256, 0, reduce_>>>(half_[turn_], sum_);
    cudaEventRecord(reduced_[turn_], reduce_);
    turn_ ^= 1;
    cudaStreamWaitEvent(fill_, reduced_[turn_], 0);
#ifndef FIXED
    turn_ = 0;
#endif
  }
  void wait() { cudaStreamSynchronize(reduce_); }

 private:
  int turn_ = 0;
  float* sum_;
  float* half_[2] = {nullptr, nullptr};
  cudaEvent_t reduced_[2] = {nullptr, nullptr};
  cudaEvent_t filled_ = nullptr;
  cudaStream_t fill_ = nullptr, reduce_ = nullptr;
};
