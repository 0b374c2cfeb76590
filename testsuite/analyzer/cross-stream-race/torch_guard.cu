// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Inside the guard the side stream is current: it reads what the outer stream has just written.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

at::Tensor run(const at::Tensor& weights) {
  auto side = c10::cuda::getStreamFromPool();
  weights.mul_(0.5);
#ifdef FIXED
  at::cuda::CUDAEvent scaled;
  const auto outer = c10::cuda::getCurrentCUDAStream(); scaled.record(outer);
  scaled.block(side);
#endif
  c10::cuda::CUDAStreamGuard guard(side);
  at::Tensor total = weights.sum();
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: at::Tensor::sum on the current stream may read 'weights' while at::Tensor::mul_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'weights' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-11]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:22: note: nothing orders the stream of at::Tensor::sum after the stream of at::Tensor::mul_: record an event in the stream of at::Tensor::mul_ after the update and let the stream of at::Tensor::sum wait for it with cudaStreamWaitEvent before at::Tensor::sum
#ifdef FIXED
  scaled.record(side);
  scaled.block(outer);
#endif
  return total;
}
