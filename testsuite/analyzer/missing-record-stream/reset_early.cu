// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// The tensor is dropped by an assignment of an empty one while the side stream works.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void run(const at::Tensor& out) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork;
  at::Tensor scratch = at::zeros({1024}, at::kCUDA);
  fork.record();
  fork.block(side);
  {
    c10::cuda::CUDAStreamGuard guard(side);
    out.copy_(scratch, true);
  }
#ifdef FIXED
  side.synchronize();
#endif
  scratch.reset();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'scratch' is returned to the allocator, which may reuse it on the stream of 'scratch', while at::Tensor::copy_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-7]]:5: note: tensor 'scratch' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-15]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:24: note: 'scratch' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'scratch' wait for the current stream before the tensor is released
}
