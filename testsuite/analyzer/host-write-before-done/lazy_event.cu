// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// An event that is made where it is first asked for is there in the second call: a wait for it waits.
#include <cuda_runtime.h>

class Uploader {
 public:
  explicit Uploader(int n) : count_(n) {
    cudaMalloc(&device_, n * sizeof(int));
    cudaMallocHost(&pinned_, n * sizeof(int));
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }

  void put(const int* source) {
#ifdef FIXED
    cudaEventSynchronize(uploaded());
#endif
    for (int i = 0; i < count_; ++i) pinned_[i] = source[i];
// CHECK-MESSAGES: :[[@LINE-1]]:38: warning: the host may write 'this->pinned_' while cudaMemcpyAsync (host to device) on stream 'this->stream_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'this->pinned_' is read here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE+6]]:5: note: event 'this->uploaded_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-11]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:5: note: 'this->pinned_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:38: note: wait for event 'this->uploaded_' with cudaEventSynchronize, or for all of stream 'this->stream_' with cudaStreamSynchronize, before the write
// CHECK-NOTES: :[[@LINE-11]]:8: note: if 'Uploader::put' is called twice: no method of the class waits in between, and no other code has the stream
    cudaMemcpyAsync(device_, pinned_, count_ * sizeof(int), cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(uploaded(), stream_);
#ifndef FIXED
#endif
  }

 private:
  cudaEvent_t uploaded() {
    if (!uploaded_) cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming);
    return uploaded_;
  }

  int count_;
  int *device_, *pinned_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};
