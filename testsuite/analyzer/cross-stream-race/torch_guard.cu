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
  scaled.record(c10::cuda::getCurrentCUDAStream());
  scaled.block(side);
#endif
  c10::cuda::CUDAStreamGuard guard(side);
  return weights.sum();  // FIRES: cross-stream-race
}
