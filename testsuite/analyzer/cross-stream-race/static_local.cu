// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-read-before-done,event-wait-without-record %s
//
// The initialiser of a static local variable runs once: every call gives the same stream, and the same event.
#include <cuda_runtime.h>

__global__ void step(float* m) { m[threadIdx.x] += 1.0f; }

class Gpu {
 public:
  Gpu() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming);
  }
  cudaStream_t stream() const { return stream_; }
  cudaEvent_t ready() const { return ready_; }

 private:
  cudaStream_t stream_;
  cudaEvent_t ready_;
};

Gpu& gpu() {
  static Gpu one;
  return one;
}

cudaStream_t made_once() {
  static cudaStream_t stream = [] {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}

float same_stream(float* m) {
  step<<<1, 256, 0, gpu().stream()>>>(m);
  step<<<1, 128, 0, gpu().stream()>>>(m);
  cudaStreamSynchronize(gpu().stream());
  for (int i = 0; i < 4; ++i) step<<<1, 256, 0, made_once()>>>(m);
  cudaStreamSynchronize(made_once());
  return m[0];
}

void same_event(float* m) {
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  step<<<1, 256, 0, gpu().stream()>>>(m);
  cudaEventRecord(gpu().ready(), gpu().stream());
  cudaStreamWaitEvent(other, gpu().ready(), 0);
  step<<<1, 256, 0, other>>>(m);
  cudaStreamSynchronize(other);
}

cudaStream_t made_anew() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

void two_streams(float* m) {
  step<<<1, 256, 0, made_anew()>>>(m);
  step<<<1, 128, 0, made_anew()>>>(m);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'step' may update 'm' while kernel 'step' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'm' is updated here
// CHECK-NOTES: :[[@LINE-3]]:3: note: nothing orders the stream of this work after the stream of that work: record an event in the stream of that work after the update and let the stream of this work wait for it with cudaStreamWaitEvent before kernel 'step'
  cudaDeviceSynchronize();
}
