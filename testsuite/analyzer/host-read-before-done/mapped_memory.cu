// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Zero-copy: the kernel writes mapped pinned memory that the host reads at once.
#include <cuda_runtime.h>

__global__ void flag_errors(const float* x, int* errors) { if (x[threadIdx.x] < 0.0f) errors[0] = 1; }

bool bad(const float* x, cudaStream_t stream) {
  int* errors = nullptr;
  cudaHostAlloc(reinterpret_cast<void**>(&errors), sizeof(int), cudaHostAllocMapped);
  errors[0] = 0;
  flag_errors<<<1, 256, 0, stream>>>(x, errors);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const bool found = errors[0] != 0;
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: the host may read 'errors' while kernel 'flag_errors' on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'errors' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'errors' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:22: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(errors);
  return found;
}
