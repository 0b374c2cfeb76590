// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host waits for the compute stream, the copy is on another one.
#include <cuda_runtime.h>

int first(const int* d_found) {
  cudaStream_t compute, copy;
  int* found = nullptr;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  cudaMallocHost(reinterpret_cast<void**>(&found), 16 * sizeof(int));
  cudaMemcpyAsync(found, d_found, 16 * sizeof(int), cudaMemcpyDeviceToHost, copy);
#ifdef FIXED
  cudaStreamSynchronize(copy);
#else
  cudaStreamSynchronize(compute);
#endif
  const int result = found[0];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: the host may read 'found' while cudaMemcpyAsync (device to host) on stream 'copy' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'found' is written here, on stream 'copy'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'copy' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: 'found' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:22: note: wait for stream 'copy' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(copy);
  cudaFreeHost(found);
  return result;
}
