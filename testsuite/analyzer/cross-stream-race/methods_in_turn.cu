// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DWAITS
// RUN: %check cross-stream-race %s -- -DFIXED -DEXPOSED
// RUN: %check cross-stream-race %s -- -DFIXED -DGIVEN
// RUN: %check cross-stream-race %s -- -DFIXED -DPUBLIC
// RUN: %check cross-stream-race %s -- -DFIXED -DCALLER
// RUN: %check cross-stream-race %s -- -DFIXED -DTICKET
// RUN: %check cross-stream-race %s -- -DFIXED -DSIGNAL
//
// What one method leaves in flight on a private stream meets the next method on another one. Silent if somebody can
// wait in between: a method, whoever gets the stream, a caller in sight that does.
#include <cuda_runtime.h>

#if defined(FIXED) && !defined(WAITS) && !defined(EXPOSED) && !defined(GIVEN) && !defined(PUBLIC) && !defined(CALLER) && \
    !defined(TICKET) && !defined(SIGNAL)
#define REPAIRED
#endif

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
#ifdef TICKET
  cudaEvent_t inked() {
    cudaEventRecord(inked_, ink_);
    return inked_;
  }
#endif
#ifdef SIGNAL
  void tell(cudaEvent_t inked) { cudaEventRecord(inked, ink_); }
#endif
  void ink() {
    paint<<<1, 256, 0, ink_>>>(plate_);
#ifdef REPAIRED
    cudaEventRecord(inked_, ink_);
    cudaStreamWaitEvent(press_, inked_, 0);
#endif
  }
  void print(float* page) {
    gather<<<1, 256, 0, press_>>>(plate_, page);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->press_' may read 'this->plate_' while kernel 'paint' on stream 'this->ink_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:5: note: 'this->plate_' is written here, on stream 'this->ink_'
// CHECK-NOTES: :[[@LINE-26]]:5: note: stream 'this->ink_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-26]]:5: note: stream 'this->press_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-25]]:5: note: 'this->plate_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->press_' after stream 'this->ink_': record an event in stream 'this->ink_' after the write and let stream 'this->press_' wait for it with cudaStreamWaitEvent before kernel 'gather'
// CHECK-NOTES: :[[@LINE-8]]:8: note: if 'Plate::ink' is followed by 'Plate::print': no method of the class waits in between, and no other code has the stream
#ifdef REPAIRED
    cudaEventRecord(inked_, press_);
    cudaStreamWaitEvent(ink_, inked_, 0);
#endif
  }
#ifdef WAITS
  void wait() { cudaStreamSynchronize(ink_); }
#endif
#ifdef EXPOSED
  cudaStream_t ink_stream() const { return ink_; }
  cudaStream_t press_stream() const { return press_; }
#endif

#ifdef GIVEN
  void streams(cudaStream_t* ink, cudaStream_t* press) const { *ink = ink_, *press = press_; }
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
