// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor of another type is a new one, which ends here while a side stream still reads it.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Offloader {
 public:
  Offloader() : side_(c10::cuda::getStreamFromPool()) {}
  void offload(const at::Tensor& activation, at::Tensor& host) {
    at::Tensor half = activation.to(at::kHalf);
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    host.copy_(half, /*non_blocking=*/true);
#ifdef FIXED
    half.record_stream(side_);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'half' is returned to the allocator, which may reuse it on the stream of 'half', while at::Tensor::copy_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:5: note: tensor 'half' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-12]]:23: note: 'half' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'half' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-11]]:5: note: the two are treated as two streams: one waits here for work of the other

 private:
  c10::cuda::CUDAStream side_;
};
