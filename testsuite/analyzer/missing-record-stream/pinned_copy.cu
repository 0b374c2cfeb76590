// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// The allocator of pinned tensors knows of the copies between tensors, and waits for them itself. Of a block of the
// device it knows the stream alone that it was made on.
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void save(const at::Tensor& weights, int64_t count) {
  auto side = c10::cuda::getStreamFromPool();
#ifdef FIXED
  auto copy = at::empty({count}, at::TensorOptions().device(at::kCPU).pinned_memory(true));
#else
  auto copy = at::empty({count}, at::TensorOptions().device(at::kCUDA));
#endif
  c10::cuda::CUDAStreamGuard guard(side);
  copy.copy_(weights, /*non_blocking=*/true);
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'copy' is returned to the allocator, which may reuse it on the stream of 'copy', while at::Tensor::copy_ on the current stream still writes it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:3: note: tensor 'copy' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-11]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:15: note: 'copy' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:1: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'copy' wait for the current stream before the tensor is released
