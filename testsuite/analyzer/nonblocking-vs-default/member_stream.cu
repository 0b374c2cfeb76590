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
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'add' on non-blocking stream 'a.stream_' may atomically update 'a.total_' while cudaMemset on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'a.total_' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:5: note: cudaMemset returns when its work may still be running (R-CPY-50)
// CHECK-NOTES: :[[@LINE-18]]:5: note: stream 'a.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+12]]:15: note: in the call to 'Accumulator::Accumulator' here
// CHECK-NOTES: :[[@LINE-19]]:5: note: 'a.total_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: stream 'a.stream_' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'a.stream_' wait for it with cudaStreamWaitEvent before kernel 'add'
// CHECK-NOTES: :[[@LINE+10]]:3: note: in the call to 'Accumulator::restart_with' here
  }

 private:
  cudaStream_t stream_;
  float* total_;
};

void use(const float* x) {
  Accumulator a;
  a.restart_with(x);
}
