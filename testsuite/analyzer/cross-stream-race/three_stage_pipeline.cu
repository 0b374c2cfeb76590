// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Upload, compute and download on three streams with events between them; the second edge is missing.
#include <cuda_runtime.h>

__global__ void transform(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void frame(float* d_in, float* d_out, const float* h_in, float* h_out, size_t bytes) {
  cudaStream_t up, work, down;
  cudaEvent_t uploaded, computed;
  cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&computed, cudaEventDisableTiming);
  cudaMemcpyAsync(d_in, h_in, bytes, cudaMemcpyHostToDevice, up);
  cudaEventRecord(uploaded, up);
  cudaStreamWaitEvent(work, uploaded, 0);
  transform<<<1, 256, 0, work>>>(d_in, d_out);
#ifdef FIXED
  cudaEventRecord(computed, work);
  cudaStreamWaitEvent(down, computed, 0);
#endif
  cudaMemcpyAsync(h_out, d_out, bytes, cudaMemcpyDeviceToHost, down);  // FIRES: cross-stream-race
  cudaStreamSynchronize(down);
  cudaDeviceSynchronize();
}
