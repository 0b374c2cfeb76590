// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A flattened bucket is reduced on the communication stream and released when the function returns.
#include <ATen/cuda/CUDAEvent.h>
#include <nccl.h>
#include <torch/torch.h>

void all_reduce(ncclComm_t communicator, const at::Tensor& a, const at::Tensor& b) {
  auto compute = at::cuda::getCurrentCUDAStream();
  auto comm = at::cuda::getStreamFromPool(/*isHighPriority=*/true);
  at::cuda::CUDAEvent ready;
  at::Tensor bucket = at::cat({a, b});
  ready.record(compute);
  ready.block(comm);
  ncclAllReduce(bucket.data_ptr(), bucket.data_ptr(), bucket.numel(), ncclFloat, ncclSum, communicator, comm.stream());
#ifdef FIXED
  bucket.record_stream(comm);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'bucket' is returned to the allocator, which may reuse it on the stream of 'bucket', while ncclAllReduce on stream 'comm' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:3: note: tensor 'bucket' is read here, on stream 'comm'
// CHECK-NOTES: :[[@LINE-12]]:15: note: stream 'comm' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:23: note: 'bucket' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:1: note: call record_stream(comm) on the tensor after its last use there, or let the stream of 'bucket' wait for stream 'comm' before the tensor is released
