// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor of the current stream is used on a side stream and dies: its block may be handed out again at once.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

void run(const at::Tensor& out) {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent ready;
  {
    at::Tensor scratch = at::zeros({1024}, at::kCUDA);
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(side);
    c10::cuda::CUDAStreamGuard guard(side);
    out.copy_(scratch, /*non_blocking=*/true);
#ifdef FIXED
    scratch.record_stream(side);
#endif
  }  // FIRES: missing-record-stream
}
