// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// pytorch/pytorch#182770, WS: an extension's kernel goes to stream 0 between tensor operations of the current stream.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void mv(const float* m, const float* v, float* out) { out[threadIdx.x] = m[threadIdx.x] * v[threadIdx.x]; }

at::Tensor matrix_vector(const at::Tensor& m, const at::Tensor& v) {
  auto stream = c10::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard(stream);
  v.mul_(2.0);
  at::Tensor out = at::empty_like(v);
#ifdef FIXED
  mv<<<1, 64, 0, at::cuda::getCurrentCUDAStream()>>>(m.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>());
#else
  mv<<<1, 64>>>(m.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'mv' on the default stream may read 'v' while at::Tensor::mul_ on the current stream still updates it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'v' is updated here, on the current stream
// CHECK-NOTES: :[[@LINE-10]]:17: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for the current stream, which is non-blocking; record an event in the current stream after the update and let the default stream wait for it with cudaStreamWaitEvent before kernel 'mv'
#endif
  stream.synchronize();
  cudaStreamSynchronize(0);
  return out;
}
