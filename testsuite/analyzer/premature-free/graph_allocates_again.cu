// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// Memory that a node of a graph allocates has one address for all launches. Freed after the first launch, it is there
// again after the second.
#include <cuda_runtime.h>

__global__ void validate(const float* result, int* wrong) { if (result[threadIdx.x] < 0) *wrong = 1; }

void run(cudaGraphExec_t allocates, float* result, int* wrong, cudaStream_t s) {
  cudaGraphLaunch(allocates, s);
  validate<<<1, 256, 0, s>>>(result, wrong);
  cudaFreeAsync(result, s);
#ifdef FIXED
  cudaGraphLaunch(allocates, s);
#endif
  validate<<<1, 256, 0, s>>>(result, wrong);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'validate' on stream 's' may read 'result' after cudaFreeAsync on stream 's' has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'result' is freed here on stream 's'
// CHECK-NOTES: :[[@LINE-3]]:3: note: free it after the last use, on stream 's' or on a stream that waits for it
  cudaStreamSynchronize(s);
}
