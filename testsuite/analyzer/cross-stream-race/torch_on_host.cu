// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DPINNED
//
// Work on a tensor of the host's memory is done when the call returns: it is in no stream. A tensor is there unless
// something names a device.
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

at::Tensor gradients(int64_t count, const at::TensorOptions& given) {
#if defined(PINNED)
  const auto options = at::TensorOptions().dtype(at::kFloat).pinned_memory(true);
#elif defined(FIXED)
  const auto options = at::TensorOptions().dtype(at::kFloat);
#else
  const auto options = given;
#endif
  auto batch = at::zeros({count}, options);
  batch.mul_(0.25);
  auto side = c10::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard(side);
  at::Tensor total = batch.sum();
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: at::Tensor::sum on the current stream may read 'batch' while at::Tensor::mul_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'batch' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-5]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:16: note: 'batch' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:22: note: nothing orders the stream of at::Tensor::sum after the stream of at::Tensor::mul_: record an event in the stream of at::Tensor::mul_ after the update and let the stream of at::Tensor::sum wait for it with cudaStreamWaitEvent before at::Tensor::sum
  side.synchronize();
  return total;
}
