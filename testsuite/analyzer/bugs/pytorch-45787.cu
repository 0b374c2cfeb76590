// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// pytorch/pytorch#45787, XR: consumers wait for the default stream, the root gradient was filled on a side stream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

struct GraphRoot {
  at::Tensor gradient;
  c10::cuda::CUDAStream stream;
};

static void consume(const GraphRoot& root, const at::Tensor& weights, c10::cuda::CUDAStream stream) {
  at::cuda::CUDAEvent ready;
#ifdef FIXED
  ready.record(root.stream);
#else
  ready.record(c10::cuda::getDefaultCUDAStream());
#endif
  ready.block(stream);
  c10::cuda::CUDAStreamGuard guard(stream);
  weights.add_(root.gradient);  // FIRES: cross-stream-race
}

void backward(const at::Tensor& gradient, const at::Tensor& weights) {
  auto side = c10::cuda::getStreamFromPool();
  auto engine = c10::cuda::getStreamFromPool();
  {
    c10::cuda::CUDAStreamGuard guard(side);
    gradient.fill_(1.0);
  }
  consume(GraphRoot{gradient, side}, weights, engine);
}
