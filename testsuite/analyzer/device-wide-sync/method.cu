// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// The object's stream is the only one that the method used.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

class Solver {
 public:
  Solver() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Solver() { cudaStreamDestroy(stream_); }
  void solve(float* x) {
    work<<<1, 256, 0, stream_>>>(x);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#else
    cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaDeviceSynchronize waits for the whole device where only stream 'this->stream_' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-6]]:5: note: kernel 'work' is the last work on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-10]]:14: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'cudaStreamSynchronize(this->stream_)' waits for the same work
#endif
  }

 private:
  cudaStream_t stream_;
};
