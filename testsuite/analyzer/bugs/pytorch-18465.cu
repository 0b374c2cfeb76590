// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// pytorch/pytorch#18465, AR: gradients are flattened on the worker's stream and reduced on NCCL's; the flat tensor dies.
#include <ATen/cuda/CUDAEvent.h>
#include <nccl.h>
#include <torch/torch.h>

class ProcessGroup {
 public:
  explicit ProcessGroup(ncclComm_t comm) : comm_(comm) {}
  void all_reduce(const at::Tensor& tensor, c10::cuda::CUDAStream stream) {
    at::cuda::CUDAEvent filled;
    filled.record(c10::cuda::getCurrentCUDAStream());
    filled.block(stream);
    ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), ncclFloat, ncclSum, comm_, stream.stream());
#ifdef FIXED
    tensor.record_stream(stream);
#endif
  }

 private:
  ncclComm_t comm_;
};

void reduce_bucket(ProcessGroup& group, const at::Tensor& a, const at::Tensor& b) {
  auto nccl = c10::cuda::getStreamFromPool();
  at::Tensor flat = at::cat({a, b});
  group.all_reduce(flat, nccl);
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'flat' is returned to the allocator, which may reuse it on the stream of 'flat', while ncclAllReduce on stream 'nccl' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-16]]:5: note: tensor 'flat' is read here, on stream 'nccl'
// CHECK-NOTES: :[[@LINE-4]]:3: note: in the call to 'ProcessGroup::all_reduce' here
// CHECK-NOTES: :[[@LINE-7]]:15: note: stream 'nccl' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:21: note: 'flat' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:1: note: call record_stream(nccl) on the tensor after its last use there, or let the stream of 'flat' wait for stream 'nccl' before the tensor is released
