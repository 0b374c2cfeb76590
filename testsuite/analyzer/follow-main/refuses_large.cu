// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default,cross-stream-race %s
// RUN: %check nonblocking-vs-default,cross-stream-race %s -- -DFIXED
//
// No main(): a method refuses a radius that is too large. It is called again with a small one, and does its work.
#include <cuda_runtime.h>

#include <deque>
#include <stdexcept>

__global__ void convolve(const float* weights, float* picture, int radius) {
  picture[threadIdx.x] *= weights[threadIdx.x % (2 * radius + 1)];
}
__global__ void weigh(float* weights) { weights[threadIdx.x] = 1.0f; }

class Filter {
 public:
  Filter() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    for (int i = 0; i < 2; ++i) cudaMalloc(&weights_.emplace_back(), 4096);
    cudaMalloc(&picture_, 4096);
  }
  ~Filter() {
    cudaStreamSynchronize(stream_);
    for (float* weights : weights_) cudaFree(weights);
    cudaFree(picture_);
    cudaStreamDestroy(stream_);
  }
  Filter(const Filter&) = delete;

  void apply(int radius) {
    if (radius > 4) throw std::invalid_argument("radius");
    float* made = weights_.front();
    weights_.pop_front();
    weights_.push_back(made);
    weigh<<<1, 256, 0, stream_>>>(made);
    float* used = weights_.front();
    // A cudaMemcpy does not wait for a stream that is non-blocking.
#ifdef FIXED
    cudaMemcpyAsync(used, made, 4096, cudaMemcpyDeviceToDevice, stream_);
#else
    cudaMemcpy(used, made, 4096, cudaMemcpyDeviceToDevice);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpy (device to device) on the default stream may read 'made' while kernel 'weigh' on non-blocking stream 'this->stream_' still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-8]]:5: note: 'made' is written here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-26]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:5: note: the default stream does not wait for stream 'this->stream_', which is non-blocking; record an event in stream 'this->stream_' after the write and let the default stream wait for it with cudaStreamWaitEvent before cudaMemcpy (device to device)
#endif
    convolve<<<1, 256, 0, stream_>>>(used, picture_, radius);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'convolve' on non-blocking stream 'this->stream_' may read 'used' while cudaMemcpy (device to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-8]]:5: note: 'used' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-9]]:5: note: cudaMemcpy (device to device) returns when its work may still be running (R-CPY-04)
// CHECK-NOTES: :[[@LINE-33]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: stream 'this->stream_' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'this->stream_' wait for it with cudaStreamWaitEvent before kernel 'convolve'
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::deque<float*> weights_;
  float* picture_ = nullptr;
};
