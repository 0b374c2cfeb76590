// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A plain struct is assigned as a whole: the usual way to fill a block of parameters.
#include <cuda_runtime.h>

struct Parameters {
  float scale;
  int count;
};

void send_two(Parameters* device, const Parameters& first, const Parameters& second, cudaStream_t s) {
  Parameters* staged = nullptr;
  cudaMallocHost(&staged, sizeof(Parameters));
  *staged = first;
  cudaMemcpyAsync(device, staged, sizeof(Parameters), cudaMemcpyHostToDevice, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  *staged = second;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'staged' while cudaMemcpyAsync (host to device) on stream 's' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staged' is read here, on stream 's'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'staged' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 's' with cudaStreamSynchronize before the write
  cudaMemcpyAsync(device + 1, staged, sizeof(Parameters), cudaMemcpyHostToDevice, s);
  cudaStreamSynchronize(s);
  cudaFreeHost(staged);
}
