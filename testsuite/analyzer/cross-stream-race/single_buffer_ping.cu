// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// One staging buffer on the device, "filled" is awaited, but nothing keeps the next upload off the kernel.
#include <cuda_runtime.h>

__global__ void compute(const float* in, float* out) { out[threadIdx.x] += in[threadIdx.x]; }

void stream_in(const float* h_pinned, float* buffer, float* out, int chunks, size_t n) {
  cudaStream_t copy, work;
  cudaEvent_t filled, drained;
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&drained, cudaEventDisableTiming);
  for (int c = 0; c < chunks; ++c) {
    cudaMemcpyAsync(buffer, h_pinned + c * n, n * sizeof(float), cudaMemcpyHostToDevice, copy);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (host to device) on stream 'copy' may write 'buffer' while kernel 'compute' on stream 'work', in an earlier iteration, still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'buffer' is read here, on stream 'work'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'copy' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: kernel 'compute' may be that of an earlier iteration: record an event in stream 'work' after the read and let stream 'copy' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device) of the next iteration
    cudaEventRecord(filled, copy);
    cudaStreamWaitEvent(work, filled, 0);
    compute<<<1, 256, 0, work>>>(buffer, out);
#ifdef FIXED
    cudaEventRecord(drained, work);
    cudaStreamWaitEvent(copy, drained, 0);
#endif
  }
  cudaStreamSynchronize(work);
}
