// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A kernel works on the tensors of the caller, who works on the current stream, and goes to none.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void blend(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

void blend_into(const at::Tensor& x, at::Tensor& y) {
#ifdef FIXED
  blend<<<1, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>());
#else
  blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'blend' goes to the default stream, not to the current stream: its stream argument is left out [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: pass the current stream; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-7]]:6: note: the current stream is what callers of 'blend_into' work on with their tensors
#endif
}

// The host waits for it; 0 is written; the pointers are anybody's.
void waited_for(const at::Tensor& x, at::Tensor& y) {
  blend<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
  cudaDeviceSynchronize();
}
void chosen(const at::Tensor& x, at::Tensor& y) {
  blend<<<1, 256, 0, 0>>>(x.data_ptr<float>(), y.data_ptr<float>());
}
void raw(const float* x, float* y) { blend<<<1, 256>>>(x, y); }
