// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Members that are created at their first use: every use comes after `if (!s_) cudaStreamCreate(&s_)`, its own or that
// of a function that is called before, so they are two streams. Where one use comes without it both may be null, and
// the default stream: silent.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  ~Pipeline() {
    if (compute_ != nullptr) cudaStreamDestroy(compute_);
    if (transfer_) {
      cudaStreamSynchronize(transfer_);
      cudaStreamDestroy(transfer_);
    }
  }
  void step(float* data, float* out) {
#ifndef FIXED
    open();
#endif
    scale<<<1, 256, 0, compute_>>>(data);
    gather<<<1, 256, 0, transfer()>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->transfer_' may read 'data' while kernel 'scale' on stream 'this->compute_' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:5: note: 'data' is updated here, on stream 'this->compute_'
// CHECK-NOTES: :[[@LINE+7]]:30: note: stream 'this->compute_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+10]]:7: note: stream 'this->transfer_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->transfer_' after stream 'this->compute_': record an event in stream 'this->compute_' after the update and let stream 'this->transfer_' wait for it with cudaStreamWaitEvent before kernel 'gather'
  }

 private:
  void open() {
    if (compute_ == nullptr) cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
  }
  cudaStream_t transfer() {
    if (!transfer_) {
      cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking);
    }
    return transfer_;
  }
  cudaStream_t compute_ = nullptr;
  cudaStream_t transfer_ = nullptr;
};
