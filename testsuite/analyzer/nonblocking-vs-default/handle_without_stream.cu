// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The constructor makes a plan and does not set its stream: it works on the default stream, which does not wait for the
// non-blocking one. The memory is the caller's; both accesses are in one call.
#include <cuda_runtime.h>
#include <cufft.h>

__global__ void window(cufftComplex* data) { data[threadIdx.x].x *= 0.5f; }

class Spectrum {
 public:
  explicit Spectrum(int n) {
    cufftPlan1d(&plan_, n, CUFFT_C2C, 1);
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
#ifdef FIXED
    cufftSetStream(plan_, stream_);
#endif
  }
  void transform(cufftComplex* data) {
    window<<<1, 256, 0, stream_>>>(data);
    cufftExecC2C(plan_, data, data, CUFFT_FORWARD);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cufftExecC2C on the default stream may update 'data' while kernel 'window' on non-blocking stream 'this->stream_' still updates it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-3]]:5: note: 'data' is updated here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-10]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:5: note: the default stream does not wait for stream 'this->stream_', which is non-blocking; record an event in stream 'this->stream_' after the update and let the default stream wait for it with cudaStreamWaitEvent before cufftExecC2C
// CHECK-NOTES: :[[@LINE-7]]:8: note: in 'Spectrum::transform' of a new object
  }

 private:
  cufftHandle plan_;
  cudaStream_t stream_;
};
