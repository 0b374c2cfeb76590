// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DWAITS
// RUN: %check cross-stream-race %s -- -DEXPOSED
// RUN: %check cross-stream-race %s -- -DPUBLIC
// RUN: %check cross-stream-race %s -- -DCALLER
//
// What one method leaves in flight on a private stream meets the next method on another one. Silent if somebody can
// wait in between: a method, whoever gets the stream, a caller in sight that does.
#include <cuda_runtime.h>

__global__ void paint(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Plate {
 public:
  Plate() {
    cudaStreamCreateWithFlags(&ink_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&press_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&inked_, cudaEventDisableTiming);
    cudaMalloc(&plate_, 1024);
  }
  Plate(const Plate&) = delete;
  void ink() {
    paint<<<1, 256, 0, ink_>>>(plate_);
#ifdef FIXED
    cudaEventRecord(inked_, ink_);
    cudaStreamWaitEvent(press_, inked_, 0);
#endif
  }
  void print(float* page) {
    gather<<<1, 256, 0, press_>>>(plate_, page);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->press_' may read 'this->plate_' while kernel 'paint' on stream 'this->ink_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:8: note: x
#ifdef FIXED
    cudaEventRecord(inked_, press_);
    cudaStreamWaitEvent(ink_, inked_, 0);
#endif
  }
#ifdef WAITS
  void wait() { cudaStreamSynchronize(ink_); }
#endif
#ifdef EXPOSED
  cudaStream_t stream() const { return ink_; }
#endif

#ifndef PUBLIC
 private:
#endif
  cudaStream_t ink_ = nullptr, press_ = nullptr;
  cudaEvent_t inked_ = nullptr;
  float* plate_ = nullptr;
};

#ifdef CALLER
void job(Plate& plate, float* page) {
  plate.ink();
  cudaDeviceSynchronize();
  plate.print(page);
  cudaDeviceSynchronize();
}
#endif
