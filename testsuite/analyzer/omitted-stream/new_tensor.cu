// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A tensor belongs to the stream that is current when it is made; the kernel that fills it goes to none.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void blend(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

at::Tensor blended(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
#ifdef FIXED
  blend<<<1, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(from, to);
#else
  blend<<<1, 256>>>(from, to);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'blend' goes to the default stream, not to the current stream: its stream argument is left out [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: pass the current stream; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-9]]:18: note: the current stream is what the tensor that it is given was made for
#endif
  return y;
}

// The host waits for it.
at::Tensor waited_for(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  cudaDeviceSynchronize();
  return y;
}

// Written, not left out.
at::Tensor chosen(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  blend<<<1, 256, 0, 0>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

// The stream that it makes current is the default one.
at::Tensor on_default(const at::Tensor& x) {
  c10::cuda::CUDAStreamGuard guard(c10::cuda::getDefaultCUDAStream());
  at::Tensor y = at::empty_like(x);
  blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

// A whole program: its current stream is the default one.
float demonstrate() {
  at::Tensor x = at::ones({256}), y = at::empty_like(x);
  blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y.item<float>();
}
