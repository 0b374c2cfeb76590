// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A member that is created in one case only is the default stream in the other, and then both members are: silent. Where
// both branches create it there is no such case.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  explicit Pipeline(bool concurrent) {
#ifdef FIXED
    if (concurrent) {
      cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
      cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking);
    }
#else
    if (concurrent) {
      cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
      cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking);
    } else {
      cudaStreamCreateWithPriority(&compute_, cudaStreamNonBlocking, -1);
      cudaStreamCreateWithPriority(&transfer_, cudaStreamNonBlocking, -1);
    }
#endif
  }
  void step(float* data, float* out) {
    scale<<<1, 256, 0, compute_>>>(data);
    gather<<<1, 256, 0, transfer_>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->transfer_' may read 'data' while kernel 'scale' on stream 'this->compute_' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:5: note: 'data' is updated here, on stream 'this->compute_'
// CHECK-NOTES: :[[@LINE-13]]:7: note: stream 'this->compute_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:7: note: stream 'this->transfer_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->transfer_' after stream 'this->compute_': record an event in stream 'this->compute_' after the update and let stream 'this->transfer_' wait for it with cudaStreamWaitEvent before kernel 'gather'
  }

 private:
  cudaStream_t compute_ = nullptr;
  cudaStream_t transfer_ = nullptr;
};
