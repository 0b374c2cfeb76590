// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuBLAS handle that an object keeps: which stream it works on may have been said in the constructor, so without a call in
// sight nothing is believed of it.
#include <cublas_v2.h>
#include <cuda_runtime.h>

class Layer {
 public:
  Layer(int m, int n) : m_(m), n_(n) {
    cublasCreate(&handle_);
    cudaStreamCreateWithFlags(&math_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking);
    cudaEventCreate(&done_);
#ifdef FIXED
    cublasSetStream(handle_, math_);
#endif
  }
  void apply(const float* a, const float* b, float* c, float* host) {
    const float one = 1.0f, zero = 0.0f;
#ifndef FIXED
    cublasSetStream(handle_, math_);
#endif
    cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, a, n_, b, n_, &zero, c, n_);
#ifdef FIXED
    cudaEventRecord(done_, math_);
    cudaStreamWaitEvent(copies_, done_, 0);
#endif
    cudaMemcpyAsync(host, c, sizeof(float) * n_ * n_, cudaMemcpyDeviceToHost, copies_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to host) on stream 'this->copies_' may read 'c' while cublasSgemm on the stream of 'this->handle_' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'c' is updated here, on the stream of 'this->handle_'
// CHECK-NOTES: :[[@LINE-20]]:5: note: the stream of 'this->handle_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-20]]:5: note: stream 'this->copies_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->copies_' after the stream of 'this->handle_': record an event in the stream of 'this->handle_' after the update and let stream 'this->copies_' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
    cudaStreamSynchronize(copies_);
    cudaStreamSynchronize(math_);
  }

 private:
  int m_, n_;
  cublasHandle_t handle_;
  cudaStream_t math_, copies_;
  cudaEvent_t done_;
};

void use(float* a, float* b, float* c, float* host) {
  Layer layer(8, 8);
  layer.apply(a, b, c, host);
}
