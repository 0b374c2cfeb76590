// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// The launch stands in a lambda in a lambda, as in what AT_DISPATCH makes of it.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void blend(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

at::Tensor blended(const at::Tensor& x, int kind) {
  at::Tensor y = at::empty_like(x);
  [&] {
    switch (kind) {
      case 1:
        return [&] {
          const float* from = x.data_ptr<float>();
          float* to = y.data_ptr<float>();
#ifdef FIXED
          blend<<<1, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(from, to);
#else
          blend<<<1, 256>>>(from, to);  // FIRES: omitted-stream
#endif
        }();
      default:
        return;
    }
  }();
  return y;
}

// The function is given a stream, and a lambda of it leaves that out.
void with_stream(const float* x, float* y, cudaStream_t stream) {
  blend<<<1, 256, 0, stream>>>(y, y + 256);
  [&] {
#ifdef FIXED
    blend<<<1, 256, 0, stream>>>(x, y);
#else
    blend<<<1, 256>>>(x, y);  // FIRES: omitted-stream
#endif
  }();
}

// The host waits for it after the lambda; a lambda that is only kept is nobody's work yet.
at::Tensor waited_for(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  [&] { blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>()); }();
  cudaDeviceSynchronize();
  return y;
}
