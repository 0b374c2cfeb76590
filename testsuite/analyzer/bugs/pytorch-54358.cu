// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// pytorch/pytorch#54358, XR: gradients arrive on a stream of the transport's pool and are used on the engine's stream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

struct Message {
  at::Tensor payload;
};

static void receive(const Message& message, const at::Tensor& wire, c10::cuda::CUDAStream transport) {
  c10::cuda::CUDAStreamGuard guard(transport);
  message.payload.copy_(wire, /*non_blocking=*/true);
}

void send_backward(const Message& message, const at::Tensor& wire, const at::Tensor& gradient) {
  auto transport = c10::cuda::getStreamFromPool();
  receive(message, wire, transport);
#ifdef FIXED
  at::cuda::CUDAEvent received;
  received.record(transport);
  received.block(c10::cuda::getCurrentCUDAStream());
#endif
  gradient.add_(message.payload);  // FIRES: cross-stream-race
}
