// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// No main(): a class works in the stream that its caller gives. A kernel writes memory that the host sees, too, and the
// host reads it in the same call, before the kernel is done.
#include <cuda_runtime.h>

#include <vector>

__global__ void locate(const float* signals, float* places, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) places[i] = signals[i] * 0.5f;
}

class Tracker {
 public:
  Tracker(int count, cudaStream_t stream) : count_(count), stream_(stream) {
    cudaHostAlloc(&places_, count * sizeof(float), cudaHostAllocMapped);
    cudaHostGetDevicePointer(&on_device_, places_, 0);
  }
  ~Tracker() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(places_);
  }
  Tracker(const Tracker&) = delete;

  void deliver(const float* signals) {
    locate<<<(count_ + 255) / 256, 256, 0, stream_>>>(signals, on_device_, count_);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    for (int i = 0; i < count_; ++i) track_.push_back(places_[i]);
// CHECK-MESSAGES: :[[@LINE-1]]:45: warning: the host may read 'places_' while kernel 'locate' on a stream of the caller's still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'places_' is written here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE-17]]:5: note: 'places_' is allocated here
// CHECK-NOTES: :[[@LINE-19]]:76: note: in the call to 'Tracker' here
// CHECK-NOTES: :[[@LINE-5]]:45: note: wait for a stream of the caller's with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE-6]]:45: note: an object of 'Tracker' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
  }
  float last() const { return track_.empty() ? 0.0f : track_.back(); }

 private:
  int count_;
  cudaStream_t stream_;
  float *places_ = nullptr, *on_device_ = nullptr;
  std::vector<float> track_;
};
