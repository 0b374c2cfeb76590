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
  scratch.reset();  // FIRES: missing-record-stream
}
