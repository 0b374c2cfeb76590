// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s --fix
//
// --fix passes the stream: to launches with two and three configuration arguments and in place of a literal 0.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  work<<<4, 256>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  work<<<4, 256, 64>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  work<<<4, 256, 0, 0>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  work<<<4, 256, 0, stream>>>(x);
}
// CHECK-FIXES: work<<<4, 256, 0, stream>>>(x);
// CHECK-FIXES: work<<<4, 256, 64, stream>>>(x);
// CHECK-FIXES: work<<<4, 256, 0, stream>>>(x);
// CHECK-FIXES: work<<<4, 256, 0, stream>>>(x);
