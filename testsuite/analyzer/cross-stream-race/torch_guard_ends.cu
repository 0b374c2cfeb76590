// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// After the guard's scope the old stream is current again and does not wait for the side stream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void run(const at::Tensor& table, const at::Tensor& update) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent done;
  {
    c10::cuda::CUDAStreamGuard guard(side);
    table.copy_(update, true);
    done.record(side);
  }
#ifdef FIXED
  done.block(c10::cuda::getCurrentCUDAStream());
#endif
  table.add_(1.0);  // FIRES: cross-stream-race
}
