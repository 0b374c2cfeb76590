// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s --fix
//
// --fix passes the stream to runtime functions whose last argument was left out.
#include <cuda_runtime.h>

void run(float* x, const float* pinned, size_t bytes, cudaEvent_t done, cudaStream_t stream) {
  cudaMemsetAsync(x, 0, bytes);                                    // FIRES: implicit-default-stream
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice);       // FIRES: implicit-default-stream
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, 0);    // FIRES: implicit-default-stream
  cudaEventRecord(done);                                           // FIRES: implicit-default-stream
  cudaMemsetAsync(x, 1, bytes, stream);
}
// CHECK-FIXES: cudaMemsetAsync(x, 0, bytes, stream);
// CHECK-FIXES: cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaEventRecord(done, stream);
// CHECK-FIXES: cudaMemsetAsync(x, 1, bytes, stream);
