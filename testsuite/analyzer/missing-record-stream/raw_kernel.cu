// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A kernel launched on a side stream uses a tensor's data_ptr().
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void gather(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* out, int64_t n) {
  auto main_stream = at::cuda::getCurrentCUDAStream();
  auto side = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent filled;
  at::Tensor index = torch::rand({n}, torch::device(torch::kCUDA));
  filled.record(main_stream);
  filled.block(side);
  gather<<<1, 256, 0, side.stream()>>>(index.data_ptr<float>(), out);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
#ifdef FIXED
  index.record_stream(side);
#endif
}  // FIRES: missing-record-stream
