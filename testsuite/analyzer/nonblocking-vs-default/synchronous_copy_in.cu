// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaMemcpy goes over the default stream: pageable data may still be on its way when the other stream starts.
#include <cuda_runtime.h>

#include <vector>

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void upload_and_run(float* data, float* out, const std::vector<float>& host) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemcpyAsync(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, side);
#else
  cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
#endif
  consume<<<1, 256, 0, side>>>(data, out);
  // CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on non-blocking stream 'side' may read 'data' while cudaMemcpy (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
  // CHECK-NOTES: :[[@LINE-4]]:3: note: 'data' is written here, on the default stream
  // CHECK-NOTES: :[[@LINE-5]]:3: note: cudaMemcpy (host to device) returns when its work may still be running (R-CPY-01)
  // CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'side' is created here (non-blocking)
  // CHECK-NOTES: :[[@LINE-5]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'side' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
}
