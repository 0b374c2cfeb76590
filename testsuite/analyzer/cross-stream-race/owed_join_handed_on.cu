// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The private stream is given to an object that records an event behind its work: whoever asks for one can wait.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void reduce(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Ticket {
 public:
  explicit Ticket(c10::cuda::CUDAStream of) { done_.record(of); }
  void redeem() { done_.block(c10::cuda::getCurrentCUDAStream()); }

 private:
  at::cuda::CUDAEvent done_;
};

class Reducer {
 public:
  void enqueue(at::Tensor& in) {
    at::cuda::CUDAEvent fork;
    fork.record();
    fork.block(side_);
    reduce<<<1, 256, 0, side_.stream()>>>(in.data_ptr<float>(), in.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'reduce' on stream 'this->side_' may still write 'in' when 'Reducer::enqueue' has returned: nothing lets the current stream wait for it [streamsan-cross-stream-race]
    in.record_stream(side_);
  }

#ifdef FIXED
  Ticket ticket() { return Ticket(side_); }
#endif

 private:
  c10::cuda::CUDAStream side_ = c10::cuda::getStreamFromPool();
};
