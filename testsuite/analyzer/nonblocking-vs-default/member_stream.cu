// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The class owns a non-blocking stream; its reset() forgets to use it.
#include <cuda_runtime.h>

__global__ void add(float* total, const float* x) { atomicAdd(total, x[threadIdx.x]); }

class Accumulator {
 public:
  Accumulator() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&total_, sizeof(float));
  }
  ~Accumulator() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFree(total_);
  }
  void restart_with(const float* x) {
#ifdef FIXED
    cudaMemsetAsync(total_, 0, sizeof(float), stream_);
#else
    cudaMemset(total_, 0, sizeof(float));
#endif
    add<<<1, 256, 0, stream_>>>(total_, x);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'add' on non-blocking stream 'this->stream_' may atomically update 'this->total_' while cudaMemset on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'this->total_' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:5: note: cudaMemset returns when its work may still be running (R-CPY-50)
// CHECK-NOTES: :[[@LINE-18]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:5: note: 'this->total_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: stream 'this->stream_' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'this->stream_' wait for it with cudaStreamWaitEvent before kernel 'add'
  }

 private:
  cudaStream_t stream_;
  float* total_;
};

void use(const float* x) {
  Accumulator a;
  a.restart_with(x);
}
