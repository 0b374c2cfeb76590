// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Kernels on getCurrentCUDAStream() are in order with ATen's own: silent; on a pool stream they are not.
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void clamp(float* x) { if (x[threadIdx.x] > 1.0f) x[threadIdx.x] = 1.0f; }

void run(const at::Tensor& x) {
  x.mul_(2.0);
#ifdef FIXED
  auto stream = at::cuda::getCurrentCUDAStream();
#else
  auto stream = at::cuda::getStreamFromPool();
#endif
  clamp<<<1, 256, 0, stream>>>(x.data_ptr<float>());  // FIRES: cross-stream-race
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  stream.synchronize();
}
