// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A kernel per non-blocking stream, each reading the table that the default stream still fills.
#include <cuda_runtime.h>

#include <vector>

__global__ void build(float* table) { table[threadIdx.x] = threadIdx.x; }
__global__ void look_up(const float* table, float* out) { out[threadIdx.x] = table[threadIdx.x]; }

void run(float* table, float** outputs, int n) {
  std::vector<cudaStream_t> streams(n);
  for (int i = 0; i < n; ++i) cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  build<<<1, 256>>>(table);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  for (int i = 0; i < n; ++i) {
    look_up<<<1, 256, 0, streams[i]>>>(table, outputs[i]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'look_up' on non-blocking stream 'streams[i]' may read 'table' while kernel 'build' on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'table' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-9]]:31: note: stream 'streams[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:5: note: stream 'streams[i]' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'streams[i]' wait for it with cudaStreamWaitEvent before kernel 'look_up'
  }
  for (int i = 0; i < n; ++i) cudaStreamSynchronize(streams[i]);
}
