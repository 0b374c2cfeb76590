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
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'index' is returned to the allocator, which may reuse it on the stream of 'index', while kernel 'gather' on stream 'side' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-7]]:3: note: tensor 'index' is read here, on stream 'side'
// CHECK-NOTES: :[[@LINE-13]]:15: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:22: note: 'index' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:1: note: call record_stream(side) on the tensor after its last use there, or let the stream of 'index' wait for stream 'side' before the tensor is released
