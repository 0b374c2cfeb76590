// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The kernel is of a module: its code is not in sight, and that it uses what it is given is presumed. That the memory
// is the device's, so that the memset returns early, is known from the constructor.
#include <cuda.h>

class Counters {
 public:
  Counters() {
    cuMemAlloc(&counts_, 256);
    cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  }
  void count(CUfunction kernel, CUdeviceptr labels) {
#ifdef FIXED
    cuMemsetD32Async(counts_, 0, 64, stream_);
#else
    cuMemsetD32(counts_, 0, 64);
#endif
    CUdeviceptr counts = counts_;
    void* arguments[] = {&labels, &counts};
    cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, stream_, arguments, nullptr);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cuLaunchKernel on non-blocking stream 'this->stream_' may use 'counts' while cuMemsetD32 on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'counts' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:5: note: 'counts' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: stream 'this->stream_' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'this->stream_' wait for it with cuStreamWaitEvent before cuLaunchKernel
// CHECK-NOTES: :[[@LINE-6]]:5: note: the code of this kernel is not in sight: that it uses 'counts', which it is given, is presumed
  }

 private:
  CUdeviceptr counts_;
  CUstream stream_;
};
