// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Chunks at an offset that is computed into a variable: the kernels of one loop run on the streams of the copies of
// another, one too far.
#include <cuda_runtime.h>

__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}

constexpr int kStreams = 4, kCount = 1 << 20;

void in_chunks(float* device, const float* pinned, float* result) {
  cudaStream_t streams[kStreams];
  for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const int chunk = kCount / kStreams;
  for (int i = 0; i < kStreams; ++i) {
    const int offset = i * kCount / kStreams;
    cudaMemcpyAsync(device + offset, pinned + offset, chunk * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
  }
  for (int i = 0; i < kStreams; ++i) {
    const int offset = i * chunk;
#ifdef FIXED
    const int which = i;
#else
    const int which = (i + 1) % kStreams;
#endif
    scale<<<chunk / 256, 256, 0, streams[which]>>>(device + offset, chunk);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:5: warning: kernel 'scale' on stream 'streams[which]' may update 'device' while cudaMemcpyAsync (host to device) on stream 'streams[i]' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-12]]:5: note: 'device' is written here, on stream 'streams[i]'
// CHECK-NOTES: :[[@LINE-17]]:40: note: stream 'streams[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:40: note: stream 'streams[which]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'streams[which]' after stream 'streams[i]': record an event in stream 'streams[i]' after the write and let stream 'streams[which]' wait for it with cudaStreamWaitEvent before kernel 'scale'
#endif
  }
  for (cudaStream_t stream : streams) cudaStreamSynchronize(stream);
}
