// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The host waits for the other stream.
#include <cuda_runtime.h>

__global__ void sort_keys(int* keys) { keys[threadIdx.x] = threadIdx.x; }
__global__ void search(const int* keys, int* found) { found[threadIdx.x] = keys[threadIdx.x]; }

void lookup(int* keys, int* found) {
  cudaStream_t sorter, searcher;
  cudaStreamCreateWithFlags(&sorter, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&searcher, cudaStreamNonBlocking);
  sort_keys<<<1, 256, 0, sorter>>>(keys);
#ifdef FIXED
  cudaStreamSynchronize(sorter);
#else
  cudaStreamSynchronize(searcher);
#endif
  search<<<1, 256, 0, searcher>>>(keys, found);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'search' on stream 'searcher' may read 'keys' while kernel 'sort_keys' on stream 'sorter' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'keys' is written here, on stream 'sorter'
// CHECK-NOTES: :[[@LINE-5]]:3: note: this waits for another stream than stream 'sorter'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'sorter' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'searcher' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'searcher' after stream 'sorter': record an event in stream 'sorter' after the write and let stream 'searcher' wait for it with cudaStreamWaitEvent before kernel 'search'
  cudaStreamSynchronize(searcher);
  cudaStreamSynchronize(sorter);
}
