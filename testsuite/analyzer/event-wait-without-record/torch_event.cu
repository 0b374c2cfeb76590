// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// An at::cuda::CUDAEvent that was never recorded blocks nothing.
#include <ATen/cuda/CUDAEvent.h>
#include <torch/torch.h>

void run(const at::Tensor& x) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent ready;
  x.mul_(2.0);
#ifdef FIXED
  ready.record(c10::cuda::getCurrentCUDAStream());
#endif
  ready.block(side);  // FIRES: event-wait-without-record
}
