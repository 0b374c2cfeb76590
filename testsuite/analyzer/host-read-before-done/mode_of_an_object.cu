// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// RUN: %check host-read-before-done %s -- -DCHANGES
// RUN: %check host-read-before-done %s -- -DBLOCKING
//
// Objects that are made for one mode do not wait in one method, and do not wait in the next. Silent if the mode may
// change in between, and on a blocking stream: callers that copy on the default stream wait for it.
#include <cuda_runtime.h>

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
#ifdef FIXED
    if (reading_ != Reading::Now) cudaStreamSynchronize(stream_);
#endif
    return host_[0];
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may read 'this->host_' while cudaMemcpyAsync (device to host) on stream 'this->stream_' still writes it [streamsan-host-read-before-done]
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
