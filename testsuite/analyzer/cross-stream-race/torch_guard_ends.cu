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
  table.add_(1.0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: at::Tensor::add_ on the current stream may update 'table' while at::Tensor::copy_ on the current stream still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: 'table' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:5: note: event 'done' is recorded here, after the write, but the stream of at::Tensor::add_ does not wait for it
// CHECK-NOTES: :[[@LINE-14]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: let the stream of at::Tensor::add_ wait for event 'done' with cudaStreamWaitEvent before at::Tensor::add_
}
