// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s --fix
//
// --fix puts the synchronisation before the statement that overwrites the staging buffer.
#include <cuda_runtime.h>

void run(int* a, int* b, cudaStream_t stream) {
  int* staging = nullptr;
  cudaMallocHost(&staging, sizeof(int));
  staging[0] = 1;
  cudaMemcpyAsync(a, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
  staging[0] = 2;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the write
  cudaMemcpyAsync(b, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
// CHECK-FIXES: cudaMemcpyAsync(a, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: staging[0] = 2;
