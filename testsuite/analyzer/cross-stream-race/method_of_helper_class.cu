// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A wait hidden in a method of a class of streams; the overload without it is called by mistake.
#include <cuda_runtime.h>

class StreamSet {
 public:
  StreamSet() {
    cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&math_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
  }
  cudaStream_t io() const { return io_; }
  cudaStream_t math() const { return math_; }
  cudaStream_t math_after_io() {
    cudaEventRecord(event_, io_);
    cudaStreamWaitEvent(math_, event_, 0);
    return math_;
  }

 private:
  cudaStream_t io_, math_;
  cudaEvent_t event_;
};

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, const float* pinned, size_t bytes, float* out) {
  StreamSet streams;
  cudaMemcpyAsync(data, pinned, bytes, cudaMemcpyHostToDevice, streams.io());
#ifdef FIXED
  consume<<<1, 256, 0, streams.math_after_io()>>>(data, out);
#else
  consume<<<1, 256, 0, streams.math()>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'streams.math_' may read 'data' while cudaMemcpyAsync (host to device) on stream 'streams.io_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'streams.io_'
// CHECK-NOTES: :[[@LINE-28]]:5: note: stream 'streams.io_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:13: note: in the call to 'StreamSet::StreamSet' here
// CHECK-NOTES: :[[@LINE-29]]:5: note: stream 'streams.math_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'streams.math_' after stream 'streams.io_': record an event in stream 'streams.io_' after the write and let stream 'streams.math_' wait for it with cudaStreamWaitEvent before kernel 'consume'
#endif
  cudaDeviceSynchronize();
}
