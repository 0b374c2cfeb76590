// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A batch is shipped from one buffer, on a stream of its own. What was put into the buffer is counted, and the count is 0
// again after the shipping, and where there is nothing to ship: so the next batch begins at the begin of the buffer,
// which may still be read.
#include <cuda_runtime.h>

__global__ void ship(const float* batch, float* wire, int n) {
  if (threadIdx.x < n) wire[threadIdx.x] = batch[threadIdx.x];
}

class Batcher {
 public:
  Batcher() {
    cudaStreamCreateWithFlags(&filling_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&shipping_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&shipped_, cudaEventDisableTiming);
    cudaMalloc(&batch_, 4096 * sizeof(float));
  }
  ~Batcher() {
    cudaStreamSynchronize(filling_);
    cudaStreamSynchronize(shipping_);
    cudaFree(batch_);
    cudaEventDestroy(filled_);
    cudaEventDestroy(shipped_);
    cudaStreamDestroy(filling_);
    cudaStreamDestroy(shipping_);
  }

  void put(const float* rows, int n) {
    cudaMemcpyAsync(batch_ + count_, rows, n * sizeof(float), cudaMemcpyDeviceToDevice, filling_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->filling_' may write 'this->batch_' while kernel 'ship' on stream 'this->shipping_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+13]]:5: note: 'this->batch_' is read here, on stream 'this->shipping_'
// CHECK-NOTES: :[[@LINE-19]]:5: note: stream 'this->shipping_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:5: note: stream 'this->filling_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:5: note: 'this->batch_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->filling_' after stream 'this->shipping_': record an event in stream 'this->shipping_' after the read and let stream 'this->filling_' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-8]]:8: note: if 'Batcher::post' is followed by 'Batcher::put': no method of the class waits in between, and no other code has the stream
    count_ += n;
  }

  void post(float* wire) {
    if (count_ == 0) return;
    cudaEventRecord(filled_, filling_);
    cudaStreamWaitEvent(shipping_, filled_, 0);
    ship<<<1, 1024, 0, shipping_>>>(batch_, wire, count_);
    cudaEventRecord(shipped_, shipping_);
#ifdef FIXED
    cudaStreamWaitEvent(filling_, shipped_, 0);
#endif
    count_ = 0;
  }

 private:
  cudaStream_t filling_ = nullptr, shipping_ = nullptr;
  cudaEvent_t filled_ = nullptr, shipped_ = nullptr;
  float* batch_ = nullptr;
  int count_ = 0;
};

void send(Batcher& batcher, const float* rows, float* wire) {
  batcher.put(rows, 512);
  batcher.post(wire);
}
