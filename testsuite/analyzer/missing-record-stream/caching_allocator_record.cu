// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// The same promise given by CUDACachingAllocator::recordStream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void scatter(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* out, int64_t n) {
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent filled;
  at::Tensor values = at::ones({n}, at::kCUDA);
  filled.record(c10::cuda::getCurrentCUDAStream());
  filled.block(side);
  scatter<<<1, 256, 0, side>>>(values.data_ptr<float>(), out);
#ifdef FIXED
  c10::cuda::CUDACachingAllocator::recordStream(values.storage().data_ptr(), side);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'values' is returned to the allocator, which may reuse it on the stream of 'values', while kernel 'scatter' on stream 'side' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:3: note: tensor 'values' is read here, on stream 'side'
// CHECK-NOTES: :[[@LINE-12]]:15: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:23: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:1: note: call record_stream(side) on the tensor after its last use there, or let the stream of 'values' wait for stream 'side' before the tensor is released
