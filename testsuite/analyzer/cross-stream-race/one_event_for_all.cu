// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// One event, recorded in several streams in turn: a wait behind the loop is a wait for the last of them. How many there
// are is the size of a vector.
#include <cuda_runtime.h>

#include <vector>

__global__ void mow(float* field) { *field = 1.0f; }
__global__ void bale(const float* field, float* out) { *out = *field; }

class Farm {
 public:
  explicit Farm(int tractors) : tractors_(tractors) {
    for (auto& tractor : tractors_) cudaStreamCreateWithFlags(&tractor, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&press_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&mown_, cudaEventDisableTiming);
    cudaMalloc(&hay_, tractors * sizeof(float));
  }
  ~Farm() { cudaDeviceSynchronize(); }

  void harvest(float* out) {
    for (size_t i = 0; i < tractors_.size(); ++i) {
      mow<<<1, 1, 0, tractors_[i]>>>(hay_ + i);
      cudaEventRecord(mown_, tractors_[i]);
#ifdef FIXED
      cudaStreamWaitEvent(press_, mown_, 0);
#endif
    }
    cudaStreamWaitEvent(press_, mown_, 0);
    bale<<<1, 1, 0, press_>>>(hay_, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'bale' on stream 'this->press_' may read 'this->hay_' while kernel 'mow' on stream 'this->tractors_[i]' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:7: note: 'this->hay_' is written here, on stream 'this->tractors_[i]'
// CHECK-NOTES: :[[@LINE-9]]:7: note: event 'this->mown_' is recorded here, in another stream than stream 'this->tractors_[i]': it does not cover the write
// CHECK-NOTES: :[[@LINE-20]]:37: note: stream 'this->tractors_[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:5: note: stream 'this->press_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:5: note: 'this->hay_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: record event 'this->mown_' in stream 'this->tractors_[i]', after the write and before the wait
// CHECK-NOTES: :[[@LINE-15]]:7: note: analysed for the case that 'this->tractors_.size()' is 2
    cudaStreamSynchronize(press_);  // nothing is left of it when the next harvest begins
  }

 private:
  std::vector<cudaStream_t> tractors_;
  cudaStream_t press_ = nullptr;
  cudaEvent_t mown_ = nullptr;
  float* hay_ = nullptr;
};
