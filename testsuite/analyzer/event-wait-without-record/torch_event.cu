// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// An at::cuda::CUDAEvent that was never recorded blocks nothing.
#include <ATen/cuda/CUDAEvent.h>
#include <torch/torch.h>

void run(const at::Tensor& x) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent ready;
  x.mul_(2.0);
#ifdef FIXED
  ready.record(c10::cuda::getCurrentCUDAStream());
#endif
  ready.block(side);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'side' waits for event 'ready', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-7]]:23: note: event 'ready' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: record event 'ready' with cudaEventRecord before the wait
}
