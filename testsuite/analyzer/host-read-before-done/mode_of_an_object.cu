// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// RUN: %check host-read-before-done %s -- -DFIXED -DCHANGES
// RUN: %check host-read-before-done %s -- -DFIXED -DBLOCKING
//
// Objects that are made for one mode do not wait in one method, and do not wait in the next. Silent if the mode may
// change in between, and on a blocking stream: callers that copy on the default stream wait for it.
#include <cuda_runtime.h>

#if defined(FIXED) && !defined(CHANGES) && !defined(BLOCKING)
#define REPAIRED
#endif

__global__ void measure(const float* x, float* out) { out[blockIdx.x] = x[blockIdx.x]; }

enum class Reading { Now, Later };

class Meter {
 public:
  explicit Meter(Reading reading) : reading_(reading) {
#ifdef BLOCKING
    cudaStreamCreate(&stream_);
#else
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
#endif
    cudaMalloc(&device_, 1024);
    cudaMallocHost(&host_, 1024);
  }
  Meter(const Meter&) = delete;
  void start(const float* x) {
    measure<<<256, 1, 0, stream_>>>(x, device_);
    cudaMemcpyAsync(host_, device_, 1024, cudaMemcpyDeviceToHost, stream_);
    if (reading_ == Reading::Now) cudaStreamSynchronize(stream_);
  }
  float first() const {
#ifdef REPAIRED
    if (reading_ != Reading::Now) cudaStreamSynchronize(stream_);
#endif
    return host_[0];
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may read 'this->host_' while cudaMemcpyAsync (device to host) on stream 'this->stream_' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-9]]:5: note: 'this->host_' is written here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-18]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:5: note: 'this->host_' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:12: note: wait for stream 'this->stream_' with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE-10]]:9: note: if 'Meter::start' is followed by 'Meter::first', where 'this->reading_ == 0' does not hold: no method of the class waits in between, and no other code has the stream
  }
#ifdef CHANGES
  void read_now() { reading_ = Reading::Now; }
#endif

 private:
  Reading reading_;
  cudaStream_t stream_ = nullptr;
  float* device_ = nullptr;
  float* host_ = nullptr;
};
