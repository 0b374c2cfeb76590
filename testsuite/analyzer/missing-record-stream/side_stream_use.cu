// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor of the current stream is used on a side stream and dies: its block may be handed out again at once.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

void run(const at::Tensor& out) {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent ready;
  {
    at::Tensor scratch = at::zeros({1024}, at::kCUDA);
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(side);
    c10::cuda::CUDAStreamGuard guard(side);
    out.copy_(scratch, /*non_blocking=*/true);
#ifdef FIXED
    scratch.record_stream(side);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'scratch' is returned to the allocator, which may reuse it on the stream of 'scratch', while at::Tensor::copy_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:5: note: tensor 'scratch' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-14]]:32: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:26: note: 'scratch' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'scratch' wait for the current stream before the tensor is released
}
