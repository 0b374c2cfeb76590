// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The stream is fetched and left out of the launch.
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void relu(float* x) { x[threadIdx.x] = x[threadIdx.x] > 0.0f ? x[threadIdx.x] : 0.0f; }

void run(const at::Tensor& x) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
#ifdef FIXED
  relu<<<1, 256, 0, stream>>>(x.data_ptr<float>());
#else
  (void)stream;
  relu<<<1, 256>>>(x.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'relu' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
// CHECK-NOTES: :[[@LINE-7]]:25: note: stream 'stream' is created here
#endif
}
