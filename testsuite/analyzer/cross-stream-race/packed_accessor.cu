// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Kernels that are given packed accessors: as parameters by value, through a variable, and indexed twice in the kernel.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

using Matrix = at::GenericPackedTensorAccessor<float, 2>;

__global__ void fill(Matrix out) { out[threadIdx.x][blockIdx.x] = 1; }
__global__ void twice(Matrix in, Matrix out) { out[threadIdx.x][blockIdx.x] = 2 * in[threadIdx.x][blockIdx.x]; }

void run(at::Tensor in, at::Tensor out) {
  auto one = c10::cuda::getStreamFromPool();
#ifdef FIXED
  auto other = one;
#else
  auto other = c10::cuda::getStreamFromPool();
#endif
  auto source = in.packed_accessor32<float, 2>();
  fill<<<1, 256, 0, one>>>(source);
  twice<<<1, 256, 0, other>>>(in.packed_accessor32<float, 2>(), out.packed_accessor32<float, 2>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'twice' on stream 'other' may read 'in' while kernel 'fill' on stream 'one' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'in' is written here, on stream 'one'
// CHECK-NOTES: :[[@LINE-11]]:14: note: stream 'one' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:16: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'other' after stream 'one': record an event in stream 'one' after the write and let stream 'other' wait for it with cudaStreamWaitEvent before kernel 'twice'
}

void only_read(at::Tensor in, at::Tensor out, at::Tensor more) {
  auto one = c10::cuda::getStreamFromPool();
  auto other = c10::cuda::getStreamFromPool();
  auto source = in.packed_accessor32<float, 2>();
  twice<<<1, 256, 0, one>>>(source, out.packed_accessor32<float, 2>());
  auto target = at::empty({64, 64}, at::kCUDA);
  twice<<<1, 256, 0, other>>>(source, target.packed_accessor32<float, 2>());
}
