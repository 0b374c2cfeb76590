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
  clamp<<<1, 256, 0, stream>>>(x.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'clamp' on stream 'stream' may update 'x' while at::Tensor::mul_ on the current stream still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'x' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-5]]:17: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: nothing orders stream 'stream' after the current stream: record an event in the current stream after the update and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'clamp'
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  stream.synchronize();
}
