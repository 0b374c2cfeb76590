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
  mv<<<1, 64>>>(m.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>());  // FIRES: nonblocking-vs-default
#endif
  stream.synchronize();
  cudaStreamSynchronize(0);
  return out;
}
