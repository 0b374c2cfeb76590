// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// pytorch/pytorch#2702, WS: products run on the user's side stream, the norm of the same tensor on another one.
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

at::Tensor iterate(const at::Tensor& matrix, int steps) {
  auto side = c10::cuda::getStreamFromPool();
#ifdef FIXED
  c10::cuda::CUDAStreamGuard guard(side);
  for (int i = 0; i < steps; ++i) matrix.mul_(0.5);
#else
  {
    c10::cuda::CUDAStreamGuard guard(side);
    for (int i = 0; i < steps; ++i) matrix.mul_(0.5);
  }
#endif
  return matrix.sum();
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: at::Tensor::sum on the current stream may read 'matrix' while at::Tensor::mul_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-5]]:37: note: 'matrix' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-13]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:10: note: nothing orders the stream of at::Tensor::sum after the stream of at::Tensor::mul_: record an event in the stream of at::Tensor::mul_ after the update and let the stream of at::Tensor::sum wait for it with cudaStreamWaitEvent before at::Tensor::sum
}
