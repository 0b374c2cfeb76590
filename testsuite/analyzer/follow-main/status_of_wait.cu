// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DTELLS
//
// A method that waits and says whether that went well is there for callers, between two calls of another one. A method that
// only asks is not, and neither is one that returns what has been computed.
#include <cuda_runtime.h>

#include <algorithm>

constexpr int kCount = 1024;

__global__ void energy(const short* samples, float* sums) {
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) sums[i] += samples[i];
}

class Recorder {
 public:
  Recorder() {
    cudaMalloc(&samples_, kCount * sizeof(short));
    cudaMalloc(&sums_, kCount * sizeof(float));
    cudaMallocHost(&staged_, kCount * sizeof(short));
    cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming);
  }
  ~Recorder() { cudaDeviceSynchronize(); }
  void push(const short* pcm) {
    cudaEventSynchronize(copied_);
    std::copy(pcm, pcm + kCount, staged_);
    cudaMemcpyAsync(samples_, staged_, kCount * sizeof(short), cudaMemcpyHostToDevice, copy_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync on stream 'copy_' may write 'samples_' while kernel 'energy' on stream 'score_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'samples_' is read here, on stream 'score_'
// CHECK-NOTES: :[[@LINE-10]]:5: note: stream 'score_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:14: note: in the call to 'Recorder' here
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'copy_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:5: note: 'samples_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'copy_' after stream 'score_': record an event in stream 'score_' after the read and let stream 'copy_' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync
// CHECK-NOTES: :[[@LINE-8]]:5: note: an object of 'Recorder' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaEventRecord(copied_, copy_);
    cudaStreamWaitEvent(score_, copied_, 0);
    energy<<<1, 256, 0, score_>>>(samples_, sums_);
  }
#ifndef FIXED
  bool idle() const { return cudaStreamQuery(score_) == cudaSuccess; }
  int loudest() {
    cudaMemcpyAsync(staged_, samples_, sizeof(short), cudaMemcpyDeviceToHost, score_);
    cudaStreamSynchronize(score_);
    return staged_[0];
  }
#elif defined(TELLS)
  bool finish() { return cudaStreamSynchronize(score_) == cudaSuccess; }
#else
  cudaError_t finish() { return cudaStreamSynchronize(score_); }
#endif

 private:
  short *samples_ = nullptr, *staged_ = nullptr;
  float* sums_ = nullptr;
  cudaStream_t copy_ = nullptr, score_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};
