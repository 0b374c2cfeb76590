// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// NVIDIA/TransformerEngine#1067, XR: three streams are forked and two joined: the receive stream was lost.
#include <cuda_runtime.h>

__global__ void gemm(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void send(const float* in, float* link) { link[threadIdx.x] = in[threadIdx.x]; }
__global__ void receive(const float* link, float* out) { out[threadIdx.x] = link[threadIdx.x]; }
__global__ void reduce(const float* a, const float* b, float* out) { out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

class Overlap {
 public:
  Overlap() {
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&send_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&receive_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&start_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&stop_compute_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&stop_send_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&stop_receive_, cudaEventDisableTiming);
  }
  void run(const float* in, float* partial, float* link, const float* remote, float* received, float* out) {
    cudaEventRecord(start_, main_);
    cudaStreamWaitEvent(compute_, start_, 0);
    cudaStreamWaitEvent(send_, start_, 0);
    cudaStreamWaitEvent(receive_, start_, 0);
    gemm<<<1, 256, 0, compute_>>>(in, partial);
    send<<<1, 256, 0, send_>>>(in, link);
    receive<<<1, 256, 0, receive_>>>(remote, received);
    join(stop_compute_, compute_);
    join(stop_send_, send_);
#ifdef FIXED
    join(stop_receive_, receive_);
#endif
    reduce<<<1, 256, 0, main_>>>(partial, received, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'reduce' on stream 'this->main_' may read 'received' while kernel 'receive' on stream 'this->receive_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: 'received' is written here, on stream 'this->receive_'
// CHECK-NOTES: :[[@LINE+9]]:5: note: event 'this->stop_send_' is recorded here, in another stream than stream 'this->receive_': it does not cover the write
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Overlap::join' here
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'this->receive_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-28]]:5: note: stream 'this->main_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:5: note: record event 'this->stop_send_' in stream 'this->receive_', after the write and before the wait
  }

 private:
  void join(cudaEvent_t event, cudaStream_t stream) {
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(main_, event, 0);
  }
  cudaStream_t main_, compute_, send_, receive_;
  cudaEvent_t start_, stop_compute_, stop_send_, stop_receive_;
};
