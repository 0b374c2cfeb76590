// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Parts of a tensor, each on its own stream: silent. Two streams on one part, or a part against its whole: it begins
// where the other does.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void scale(float* p) { p[threadIdx.x] *= 2; }
__global__ void sink(float* p) { p[threadIdx.x] = 0; }

void halves(at::Tensor batch, int64_t half) {
  auto one = c10::cuda::getStreamFromPool();
  auto other = c10::cuda::getStreamFromPool();
  auto first = batch.slice(0, 0, half);
  auto second = batch.slice(0, half, 2 * half);
  scale<<<1, 256, 0, one>>>(first.data_ptr<float>());
  sink<<<1, 256, 0, other>>>(second.data_ptr<float>());
}

void rows(at::Tensor batch) {
  auto one = c10::cuda::getStreamFromPool();
  auto other = c10::cuda::getStreamFromPool();
  scale<<<1, 256, 0, one>>>(batch[0].data_ptr<float>());
  sink<<<1, 256, 0, other>>>(batch[1].data_ptr<float>());
}

void same_half(at::Tensor batch, int64_t half) {
  auto one = c10::cuda::getStreamFromPool();
  auto other = c10::cuda::getStreamFromPool();
  auto first = batch.narrow(0, half, half);
  auto again = batch.narrow(0, half, half);
  scale<<<1, 256, 0, one>>>(first.data_ptr<float>());
  sink<<<1, 256, 0, other>>>(again.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sink' on stream 'other' may write 'again' while kernel 'scale' on stream 'one' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'again' is updated here, on stream 'one'
// CHECK-NOTES: :[[@LINE-8]]:14: note: stream 'one' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:16: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'other' after stream 'one': record an event in stream 'one' after the update and let stream 'other' wait for it with cudaStreamWaitEvent before kernel 'sink'
}

void whole(at::Tensor batch, int64_t half) {
  auto one = c10::cuda::getStreamFromPool();
  auto other = c10::cuda::getStreamFromPool();
  scale<<<1, 256, 0, one>>>(batch.data_ptr<float>());
  sink<<<1, 256, 0, other>>>(batch.narrow(0, 0, half).data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sink' on stream 'other' may write 'batch' while kernel 'scale' on stream 'one' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'batch' is updated here, on stream 'one'
// CHECK-NOTES: :[[@LINE-6]]:14: note: stream 'one' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:16: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'other' after stream 'one': record an event in stream 'one' after the update and let stream 'other' wait for it with cudaStreamWaitEvent before kernel 'sink'
}
