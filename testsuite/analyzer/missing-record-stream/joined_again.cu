// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
//
// The current stream waits for the side stream before the tensor dies, or the host does: silent.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void by_event(const at::Tensor& out) {
  auto current = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  at::Tensor scratch = at::zeros({1024}, at::kCUDA);
  fork.record(current);
  fork.block(side);
  {
    c10::cuda::CUDAStreamGuard guard(side);
    out.copy_(scratch, true);
  }
  join.record(side);
  join.block(current);
}

void by_host(const at::Tensor& out) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork;
  at::Tensor scratch = at::zeros({1024}, at::kCUDA);
  fork.record();
  fork.block(side);
  {
    c10::cuda::CUDAStreamGuard guard(side);
    out.copy_(scratch, true);
  }
  side.synchronize();
}
