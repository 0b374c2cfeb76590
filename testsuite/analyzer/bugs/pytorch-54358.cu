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
  gradient.add_(message.payload);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: at::Tensor::add_ on the current stream may read 'message.payload' while at::Tensor::copy_ on stream 'transport' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'message.payload' is written here, on stream 'transport'
// CHECK-NOTES: :[[@LINE-9]]:3: note: in the call to 'receive' here
// CHECK-NOTES: :[[@LINE-11]]:20: note: stream 'transport' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders the current stream after stream 'transport': record an event in stream 'transport' after the write and let the current stream wait for it with cudaStreamWaitEvent before at::Tensor::add_
}
