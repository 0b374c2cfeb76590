// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// NVIDIA/cudf#3045, OS: a library function that is given a stream stops the whole device.
#include <cuda_runtime.h>

__global__ void hash_rows(const int* rows, unsigned* hashes) { hashes[threadIdx.x] = rows[threadIdx.x] * 2654435761u; }

void hash_partition(const int* rows, unsigned* hashes, int n, cudaStream_t stream) {
  hash_rows<<<(n + 255) / 256, 256, 0, stream>>>(rows, hashes);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#else
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only stream 'stream' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-6]]:3: note: kernel 'hash_rows' is the last work on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'cudaStreamSynchronize(stream)' waits for the same work
#endif
}
