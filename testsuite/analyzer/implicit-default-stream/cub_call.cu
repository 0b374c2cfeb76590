// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// CUB's stream argument is the last one and defaults to stream 0.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

void scan(void* temporary, size_t bytes, const int* in, int* out, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, n * sizeof(int), stream);
#ifdef FIXED
  cub::DeviceScan::ExclusiveSum(temporary, bytes, in, out, n, stream);
#else
  cub::DeviceScan::ExclusiveSum(temporary, bytes, in, out, n);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cub::DeviceScan::ExclusiveSum goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}
