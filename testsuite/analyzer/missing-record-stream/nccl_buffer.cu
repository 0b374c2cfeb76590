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
}  // FIRES: missing-record-stream
