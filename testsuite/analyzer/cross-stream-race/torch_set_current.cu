// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// setCurrentCUDAStream changes the stream of everything after it.
#include <ATen/cuda/CUDAEvent.h>
#include <torch/torch.h>

void run(const at::Tensor& x, const at::Tensor& y) {
  auto first = c10::cuda::getStreamFromPool();
  auto second = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent event;
  c10::cuda::setCurrentCUDAStream(first);
  x.fill_(1.0);
#ifdef FIXED
  event.record(first);
  event.block(second);
#endif
  c10::cuda::setCurrentCUDAStream(second);
  y.copy_(x, true);  // FIRES: cross-stream-race
}
