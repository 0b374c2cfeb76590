// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The helper enqueues the copy and returns; the caller reads.
#include <cuda_runtime.h>

static void fetch(int* to, const int* from, int n, cudaStream_t stream) {
  cudaMemcpyAsync(to, from, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}

int count(const int* device_counts, cudaStream_t stream) {
  int* counts = nullptr;
  cudaMallocHost(&counts, 4 * sizeof(int));
  fetch(counts, device_counts, 4, stream);
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += counts[i];
// CHECK-MESSAGES: :[[@LINE-1]]:38: warning: the host may read 'counts' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'counts' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-5]]:3: note: in the call to 'fetch' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'counts' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:38: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(counts);
  return sum;
}
