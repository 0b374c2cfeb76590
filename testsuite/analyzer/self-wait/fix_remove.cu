// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check self-wait %s --fix
//
// --fix removes the wait.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaEvent_t done, cudaStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(stream, done, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'stream' waits for event 'done', which it recorded itself: the wait does nothing [streamsan-self-wait]
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'done' is recorded here on stream 'stream'
  work<<<2, 256, 0, stream>>>(x);
}
// CHECK-FIXES: cudaEventRecord(done, stream);
// CHECK-FIXES: work<<<2, 256, 0, stream>>>(x);
