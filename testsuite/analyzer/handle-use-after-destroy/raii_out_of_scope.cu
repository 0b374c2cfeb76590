// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// The plain handle outlives the wrapper that it was taken from.
#include <cuda_runtime.h>

class Stream {
 public:
  Stream() { cudaStreamCreate(&stream_); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_;
};

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t handle = nullptr;
  {
    Stream stream;
    handle = stream.get();
    work<<<1, 256, 0, handle>>>(x);
#ifdef FIXED
    work<<<1, 256, 0, handle>>>(x);
#endif
  }
#ifndef FIXED
  work<<<1, 256, 0, handle>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'handle' is used by kernel 'work' after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-23]]:15: note: stream 'handle' is destroyed here
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'stream' goes out of scope here
// CHECK-NOTES: :[[@LINE-26]]:14: note: stream 'handle' is created here
// CHECK-NOTES: :[[@LINE-13]]:12: note: in the call to 'Stream::Stream' here
#endif
  cudaDeviceSynchronize();
}
