// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s --fix
//
// --fix passes the stream to runtime functions whose last argument was left out.
#include <cuda_runtime.h>

void run(float* x, const float* pinned, size_t bytes, cudaEvent_t done, cudaStream_t stream) {
  cudaMemsetAsync(x, 0, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemsetAsync goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  cudaEventRecord(done);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventRecord goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
  cudaMemsetAsync(x, 1, bytes, stream);
}
// CHECK-FIXES: cudaMemsetAsync(x, 0, bytes, stream);
// CHECK-FIXES: cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaEventRecord(done, stream);
// CHECK-FIXES: cudaMemsetAsync(x, 1, bytes, stream);
