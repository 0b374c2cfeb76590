// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
//
// The tensor lives on in the caller or in a member: its end is not seen here, silent.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

at::Tensor returned(const at::Tensor& in) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork;
  at::Tensor result = at::empty_like(in);
  fork.record();
  fork.block(side);
  c10::cuda::CUDAStreamGuard guard(side);
  result.copy_(in, true);
  return result;
}

class Cache {
 public:
  void keep(const at::Tensor& in) {
    auto side = c10::cuda::getStreamFromPool();
    at::cuda::CUDAEvent fork;
    at::Tensor copy = at::empty_like(in);
    fork.record();
    fork.block(side);
    c10::cuda::CUDAStreamGuard guard(side);
    copy.copy_(in, true);
    kept_ = copy;
  }

 private:
  at::Tensor kept_;
};
