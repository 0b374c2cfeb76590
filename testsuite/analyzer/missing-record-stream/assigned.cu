// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
// RUN: %check missing-record-stream %s -- -DFIXED -DSTORAGE
//
// A tensor that is assigned over gives its block back. A block that is named by its storage is kept as well.
#if defined(FIXED) && !defined(STORAGE)
#define ALONE
#endif
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

void run(const at::Tensor& out, at::cuda::CUDAEvent& ready) {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  at::Tensor block = at::zeros({1024}, at::kCUDA);
  ready.record(c10::cuda::getCurrentCUDAStream());
  ready.block(side);
  {
    c10::cuda::CUDAStreamGuard guard(side);
    out.add_(block);
  }
#ifdef ALONE
  block.record_stream(side);
#elif defined(STORAGE)
  c10::cuda::CUDACachingAllocator::recordStream(block.storage().data_ptr(), side);
#endif
  block = at::ones({1024}, at::kCUDA);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'block' is returned to the allocator, which may reuse it on the stream of 'block', while at::Tensor::add_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-9]]:5: note: tensor 'block' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-16]]:32: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:22: note: 'block' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'block' wait for the current stream before the tensor is released
}
