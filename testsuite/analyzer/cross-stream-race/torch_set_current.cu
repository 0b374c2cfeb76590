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
  y.copy_(x, true);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: at::Tensor::copy_ on the current stream may read 'x' while at::Tensor::fill_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'x' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-13]]:16: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:17: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders the stream of at::Tensor::copy_ after the stream of at::Tensor::fill_: record an event in the stream of at::Tensor::fill_ after the update and let the stream of at::Tensor::copy_ wait for it with cudaStreamWaitEvent before at::Tensor::copy_
}
