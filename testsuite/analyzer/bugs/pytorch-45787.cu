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
  weights.add_(root.gradient);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: at::Tensor::add_ on stream 'engine' may read 'gradient' while at::Tensor::fill_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'consume' here
// CHECK-NOTES: :[[@LINE+12]]:5: note: 'gradient' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'ready' is recorded here, in another stream than the current stream: it does not cover the update
// CHECK-NOTES: :[[@LINE+6]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+6]]:17: note: stream 'engine' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:3: note: record event 'ready' in the current stream, after the update and before the wait
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
