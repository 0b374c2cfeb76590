// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two streams owned by one object, created in its constructor: two different streams.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  Pipeline() {
    cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&scaled_, cudaEventDisableTiming);
    cudaMalloc(&data_, 1024);
  }
  ~Pipeline() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(transfer_);
    cudaEventDestroy(scaled_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(transfer_);
    cudaFree(data_);
  }
  void step(float* out) {
    scale<<<1, 256, 0, compute_>>>(data_);
#ifdef FIXED
    cudaEventRecord(scaled_, compute_);
    cudaStreamWaitEvent(transfer_, scaled_, 0);
#endif
    gather<<<1, 256, 0, transfer_>>>(data_, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->transfer_' may read 'this->data_' while kernel 'scale' on stream 'this->compute_' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'this->data_' is updated here, on stream 'this->compute_'
// CHECK-NOTES: :[[@LINE-22]]:5: note: stream 'this->compute_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-22]]:5: note: stream 'this->transfer_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:5: note: 'this->data_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->transfer_' after stream 'this->compute_': record an event in stream 'this->compute_' after the update and let stream 'this->transfer_' wait for it with cudaStreamWaitEvent before kernel 'gather'
#ifdef FIXED
    cudaEventRecord(scaled_, transfer_);
    cudaStreamWaitEvent(compute_, scaled_, 0);
#endif
  }

 private:
  cudaStream_t compute_ = nullptr;
  cudaStream_t transfer_ = nullptr;
  cudaEvent_t scaled_ = nullptr;
  float* data_ = nullptr;
};

void drive(float* out) {
  Pipeline pipeline;
  pipeline.step(out);
}
