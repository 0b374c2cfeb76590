// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// openvdb/fvdb-core#587, WS: the current stream was fetched but left out of <<<>>>.
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void dense_voxels(const int* lower, int* voxels) { voxels[threadIdx.x] = lower[0] + threadIdx.x; }

at::Tensor build_dense(const at::Tensor& lower, int64_t count) {
  at::Tensor voxels = at::empty({count, 3}, lower.options());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream(lower.device().index()).stream();
#ifdef FIXED
  dense_voxels<<<(count + 255) / 256, 256, 0, stream>>>(lower.data_ptr<int>(), voxels.data_ptr<int>());
#else
  (void)stream;
  dense_voxels<<<(count + 255) / 256, 256>>>(lower.data_ptr<int>(), voxels.data_ptr<int>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'dense_voxels' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
// CHECK-NOTES: :[[@LINE-7]]:25: note: stream 'stream' is created here
#endif
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return voxels;
}
