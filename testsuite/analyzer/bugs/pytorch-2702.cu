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
  return matrix.sum();  // FIRES: cross-stream-race
}
