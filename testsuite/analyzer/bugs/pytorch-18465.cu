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
}  // FIRES: missing-record-stream
