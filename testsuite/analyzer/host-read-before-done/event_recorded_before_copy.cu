// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host waits for an event that was recorded before the copy.
#include <cuda_runtime.h>

__global__ void count(const int* in, int* out) { atomicAdd(out, in[threadIdx.x]); }

int total(const int* in, int* d_out, int* pinned_out_parameter) {
  cudaStream_t stream;
  cudaEvent_t done;
  int* out = nullptr;
  cudaStreamCreate(&stream);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMallocHost(&out, sizeof(int));
  count<<<1, 256, 0, stream>>>(in, d_out);
#ifdef FIXED
  cudaMemcpyAsync(out, d_out, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaEventRecord(done, stream);
#else
  cudaEventRecord(done, stream);
  cudaMemcpyAsync(out, d_out, sizeof(int), cudaMemcpyDeviceToHost, stream);
#endif
  cudaEventSynchronize(done);
  const int result = *out;
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: the host may read 'out' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'out' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'done' is recorded here, before the write: waiting for it does not cover the write
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-15]]:3: note: 'out' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:22: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(out);
  return result;
}
