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
}  // FIRES: missing-record-stream
