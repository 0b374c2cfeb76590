// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s --fix
//
// --fix removes the second synchronisation.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
  cudaStreamSynchronize(stream);
  cudaStreamSynchronize(stream);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize on stream 'stream' is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-3]]:3: note: cudaStreamSynchronize has waited for the same work here
  work<<<2, 256, 0, stream>>>(x);
}
// CHECK-FIXES: work<<<1, 256, 0, stream>>>(x);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: work<<<2, 256, 0, stream>>>(x);
